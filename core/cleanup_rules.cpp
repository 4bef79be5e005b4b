#include "core/cleanup_rules.hpp"

#include <array>
#include <utility>

#include "core/event_rules.hpp"
#include "core/hook_rules.hpp"
#include "core/questions.hpp"
#include "core/request_rules.hpp"
#include "core/stop_rules.hpp"

namespace lastcall::lifecycle::rules {
namespace {

/// The SDKs' part of the list ends when all SDKs have answered, or have gone.
void settle_sdk_cleanup(Machines& m, Instant now) {
  if (m.cleanup.record(CleanupItem::sdk).outcome != ItemOutcome::pending ||
      !m.cleanup.started(CleanupItem::sdk) || m.recovery.awaits_peers()) {
    return;  // peers of an earlier life are notified when they are back
  }
  if (m.peers.are_cleaning_up()) {
    return;
  }
  std::string unclean = m.peers.unclean_text();
  ItemOutcome const outcome = unclean.empty() ? ItemOutcome::completed : ItemOutcome::failed;
  m.cleanup.settle(now, CleanupItem::sdk, outcome, std::move(unclean));
}

/// Phase 3 is over: its end is reported, once, and then the supervisor ends or rearms.
void finish(Machines& m, Instant now) {
  if (engine_is_live(m)) {
    m.engine.note_kill();  // the engine did not end, and the stop waits no longer
  }
  for (auto const& [id, peer] : m.peers.all()) {
    m.ledger.lose_requests(now, id);
  }
  m.ledger.lose_requests(now, kIngressPeer);
  drain_ledger(m, now);
  m.coordinator.finish(now);
  note_phase_change(m);
  m.memory.publish(make_report(m, now));  // so that a rearm in this step does not empty it
  m.orders.act(PublishReport{});
  if (m.shim.is_known() && m.shim.state() != ShimState::gone) {
    m.orders.act(ExitShim{exit_code_now(m)});
  }
  end_supervisor_or_rearm(m, now);
}

}  // namespace

void on(Machines& m, Instant now, CleanupSettled const& settled) {
  m.cleanup.settle(now, settled.item, settled.outcome, settled.detail);
}

void begin_cleanup(Machines& m, Instant now, std::uint32_t first_step) {
  m.peers.forget_unclean();
  std::array<bool, kCleanupItems> applies{};
  auto const set = [&applies](CleanupItem item, bool value) {
    applies[static_cast<std::size_t>(item)] = value;
  };
  // A dead engine has no process left to clean up after itself.
  set(CleanupItem::sdk, !m.engine.has_exited() && sdk_may_clean_up(m));
  set(CleanupItem::hooks, m.settings.cleanup_hooks);
  set(CleanupItem::events, m.settings.events);
  set(CleanupItem::registries, !m.registrations.is_empty());
  set(CleanupItem::engine,
      engine_is_live(m) || m.engine.tree().state() == EngineTree::State::leaving);
  set(CleanupItem::paths, m.settings.cleanup_paths);
  m.cleanup.begin(now, applies, first_step);
  if (m.engine.is_ordered()) {
    m.cleanup.assume_term_sent();
  }
}

bool apply_cleanup(Machines& m, Instant now) {
  if (m.coordinator.phase() != Phase::cleaning_up) {
    return false;
  }
  settle_sdk_cleanup(m, now);
  auto const next = m.cleanup.next(now, cleanup_limit(m), m.coordinator.clock.budgets());
  switch (next.order) {
    case CleanupSequence::Order::none:
      return false;
    case CleanupSequence::Order::start:
      if (next.item == CleanupItem::sdk) {
        m.peers.ask_to_clean_up();
      }
      m.orders.act(StartCleanup{next.item, next.deadline});
      return true;
    case CleanupSequence::Order::signal_engine:
      m.engine.note_order();
      m.orders.act(SignalEngine{m.settings.stop_signal, false});
      return true;
    case CleanupSequence::Order::kill_engine:
      m.engine.note_order();
      if (m.engine.is_running()) {
        m.engine.note_kill();
      }
      m.orders.act(SignalEngine{"KILL", true});
      return true;
    case CleanupSequence::Order::done:
      if (now < cancels_out_by(m)) {
        return false;
      }
      finish(m, now);
      return true;
  }
  return false;
}

void end_supervisor_or_rearm(Machines& m, Instant now) {
  bool const rearms = m.settings.after_stop == AfterStop::rearm ||
                      (m.settings.after_stop == AfterStop::automatic &&
                       (has_own_container(m) || m.settings.lifecycle_hooks));
  if (rearms && !m.own.was_signalled() && !m.shim.runs_here()) {
    if (!m.shim.is_connected()) {
      rearm(m, now);
    }
    return;  // otherwise it rearms when this boot's connection has ended
  }
  exit_supervisor(m, exit_code_now(m) == 0 ? 0 : 1);
}

void rearm(Machines& m, Instant now) {
  // Without a shim the engine was not ended, and it must not serve again.
  bool const is_condemned = !m.shim.is_known();
  Awaiting condemned{.condemned = true,
                     .until = std::nullopt,
                     .since = now,
                     .verdict = m.health.verdict(),
                     .why = is_condemned ? m.coordinator.stop()->cause.detail : ""};
  m.coordinator.rearm(now);
  m.cleanup = CleanupSequence{};
  m.health.reset();
  if (!is_condemned) {
    m.health.await_process();
  }
  m.shim.stop_ended();
  m.engine.forget();
  m.evidence.forget_source();
  m.evidence.forget_engine(m.settings);
  m.registrations.forget();
  m.tally.forget_stop();
  m.unseen.begin();
  m.prestop.set_answered(false);
  m.notified.verdict(Verdict::starting);
  m.memory.forget_written();
  m.recovery.forget_stop();
  m.orders.act(Rearm{});
  m.orders.act(PhaseBegun{m.coordinator.phase()});
  announce(m);
  if (is_condemned) {
    m.notified.verdict(condemned.verdict);
    await_replacement(m, now, std::move(condemned));
  }
}

}  // namespace lastcall::lifecycle::rules
