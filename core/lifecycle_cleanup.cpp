// Phase 3 and what comes after it: the report, the exit, the next shim, our own restart.
#include <algorithm>
#include <string>
#include <utility>

#include "core/lifecycle.hpp"

namespace lastcall::lifecycle {
namespace {

void cancel_relayed(RequestLedger& ledger, Instant now, CancelMode mode) {
  ledger.cancel_where(
      now, [](RequestView const& request) { return request.peer == kIngressPeer; }, mode,
      CancelReason::grace_timeout);
}

}  // namespace

void Lifecycle::begin_cleanup(Instant now, std::uint32_t first_step) {
  left_unclean_.clear();
  std::array<bool, kCleanupItems> applies{};
  auto const set = [&applies](CleanupItem item, bool value) {
    applies[static_cast<std::size_t>(item)] = value;
  };
  // A dead engine has nobody left to clean up after itself.
  set(CleanupItem::sdk, engine_ != EngineState::exited && sdk_may_clean_up());
  set(CleanupItem::hooks, settings_.cleanup_hooks);
  set(CleanupItem::events, settings_.events);
  set(CleanupItem::registries, !registries_.empty());
  set(CleanupItem::engine, engine_is_live() || tree_.state() == EngineTree::State::leaving);
  set(CleanupItem::paths, settings_.cleanup_paths);
  cleanup_.begin(now, applies, first_step);
  if (engine_ordered_) {
    cleanup_.assume_term_sent();
  }
}

void Lifecycle::start_cleanup_item(Instant, CleanupItem item, Instant deadline) {
  if (item == CleanupItem::sdk) {
    for (auto& [id, peer] : peers_) {
      peer.cleanup_pending = peer.connected;
    }
  }
  act(StartCleanup{item, deadline});
}

void Lifecycle::settle_sdk_cleanup(Instant now) {
  if (cleanup_.record(CleanupItem::sdk).outcome != ItemOutcome::pending ||
      !cleanup_.started(CleanupItem::sdk) || peers_until_) {
    return;  // peers of an earlier life are told when they are back
  }
  for (auto const& [id, peer] : peers_) {
    if (peer.cleanup_pending) {
      return;
    }
  }
  if (left_unclean_.empty()) {
    cleanup_.settle(now, CleanupItem::sdk, ItemOutcome::completed, {});
    return;
  }
  std::size_t const others = left_unclean_.size() - 1;
  cleanup_.settle(now, CleanupItem::sdk, ItemOutcome::failed,
                  "'" + left_unclean_.front() + "'" +
                      (others > 0 ? " and " + std::to_string(others) + " more" : "") +
                      " disconnected before cleanup.done");
}

/// A peer that was asked to clean up goes away: nobody knows how far it came.
void Lifecycle::note_unclean(Peer& peer) {
  peer.unclean_at.reset();
  if (std::exchange(peer.cleanup_pending, false)) {
    left_unclean_.push_back(peer.name);
  }
}

/// A peer that came back on another connection is asked again: what that one says is the answer.
void Lifecycle::take_over_cleanup(std::string_view name) {
  auto const away = std::find_if(peers_.begin(), peers_.end(), [&](auto const& entry) {
    return entry.second.unclean_at && entry.second.name == name;
  });
  if (away != peers_.end()) {
    away->second.unclean_at.reset();
    away->second.cleanup_pending = false;
    return;
  }
  auto const unclean = std::find(left_unclean_.begin(), left_unclean_.end(), name);
  if (unclean != left_unclean_.end()) {
    left_unclean_.erase(unclean);
  }
}

/// Phase 3 is over: what is left is to say so, once, and to go.
void Lifecycle::finish(Instant now) {
  if (engine_is_live()) {
    engine_killed_ = true;  // it did not go by itself, and we do not wait longer
  }
  for (auto const& [id, peer] : peers_) {
    ledger_.lose_requests(now, id);
  }
  ledger_.lose_requests(now, kIngressPeer);
  drain_ledger(now);
  coordinator_.finish(now);
  note_phase_change();
  final_report_ = make_report(now);  // a rearm of this step must not empty it
  act(PublishReport{});
  if (shim_ && !shim_->gone) {
    act(ExitShim{exit_code_now()});
  }
  end_supervisor_or_rearm(now);
}

void Lifecycle::end_supervisor_or_rearm(Instant now) {
  bool const rearms = settings_.after_stop == AfterStop::rearm ||
                      (settings_.after_stop == AfterStop::automatic &&
                       (has_own_container() || settings_.lifecycle_hooks));
  if (rearms && !own_signal_ && !(shim_ && shim_->run)) {
    if (!shim_ || !shim_->connected) {
      rearm(now);
    }
    return;  // else when this boot's connection has ended
  }
  supervisor_ended_ = true;
  act(ExitSupervisor{exit_code_now() == 0 ? 0 : 1});
}

void Lifecycle::rearm(Instant now) {
  // Without a shim nobody has ended the engine: it is not to serve again.
  bool const is_condemned = !shim_;
  Awaiting const condemned{.condemned = true,
                           .until = std::nullopt,
                           .since = now,
                           .verdict = health_.verdict(),
                           .why = is_condemned ? coordinator_.stop()->cause.detail : ""};
  coordinator_.rearm(now);
  cleanup_.reset();
  health_.reset();
  if (shim_) {
    health_.await_process();
  }
  shim_.reset();
  engine_ = EngineState::waiting;
  engine_exit_ = {};
  engine_gone_at_.reset();
  tree_.forget();
  engine_ordered_ = engine_killed_ = died_with_work_ = aborted_with_work_ = false;
  last_source_gone_ = false;
  gauges_ = GaugeEvidence{settings_.gauge_refresh, settings_.load_counts};
  token_.forget_proof();
  registries_.assign(registries_.size(), {});
  registered_ = false;
  count_anew();
  ignored_signals_ = 0;
  late_ = 0;
  hook_is_answered_ = false;
  told_verdict_ = Verdict::starting;
  remembered_.reset();
  restored_boot_.clear();
  decided_ = false;
  rests_ = !is_condemned;
  act(Rearm{});
  act(PhaseBegun{coordinator_.phase()});
  announce();
  if (is_condemned) {
    await_replacement(now, condemned);
    told_verdict_ = condemned.verdict;
  }
}

// --- our own restart -----------------------------------------------------------------------------

/// A signal that only we saw, beside a shim that goes on: deregister, let the requests of our own
/// ingress end as in a stop, leave the engine alone.
void Lifecycle::apply_own_restart(Instant now) {
  using Stage = OwnRestart::Stage;
  if (!own_restart_ || coordinator_.is_stopping()) {
    return;
  }
  OwnRestart& restart = *own_restart_;
  Budgets const budgets = coordinator_.budgets_of(restart.signalled_at);
  Instant const deadline = budgets.deadline(restart.signalled_at);
  if (restart.stage == Stage::announced && now >= restart.next) {
    restart.enter(Stage::deregistering, now + budgets.deregister_timeout);
    assume_withdrawn();
    deregister_everywhere(now);
    if (ingress_has_relayed_) {
      act(LeaveIngress{});
    }
  }
  if (restart.stage == Stage::deregistering &&
      (facts().registries_settled || now >= restart.next)) {
    Instant const late = now + std::max(budgets.late_accept, kUntilUnready);
    restart.enter(Stage::accepting,
                  ingress_has_relayed_ ? std::min(late, budgets.stop_cancel_at(deadline)) : now);
  }
  if (restart.stage == Stage::accepting && now >= restart.next) {
    restart.enter(Stage::refusing, budgets.stop_cancel_at(deadline));
  }
  bool const has_left = restart.refuses() && ledger_.of_peer(kIngressPeer) == 0;
  if (restart.stage == Stage::refusing && !has_left && now >= restart.next) {
    cancel_relayed(ledger_, now, CancelMode::stop);
    restart.enter(Stage::stopping, budgets.kill_cancel_at(deadline));
  }
  if (restart.stage == Stage::stopping && !has_left && now >= restart.next) {
    cancel_relayed(ledger_, now, CancelMode::kill);
    restart.enter(Stage::killing, now + budgets.settle);
  }
  if (has_left || (restart.stage == Stage::killing && now >= restart.next)) {
    supervisor_ended_ = true;
    release_hook(now);
    drain_ledger(now);  // what is still to be said comes before the exit
    act(ExitSupervisor{0});
  }
}

}  // namespace lastcall::lifecycle
