// The way of an event through the core, and the joint rules between its machines. The handlers of
// the events are in lifecycle_engine.cpp, _peers.cpp, _stop.cpp and _hooks.cpp; phase 3 is in
// lifecycle_cleanup.cpp, what survives us in lifecycle_memory.cpp, questions in
// lifecycle_queries.cpp.
#include "core/lifecycle.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::lifecycle {

Lifecycle::Lifecycle(Settings settings)
    : settings_owner_(std::make_shared<Settings const>(std::move(settings))),
      registries_(settings_.registries) {}

std::span<Action const> Lifecycle::step(Instant now, Event const& event) {
  actions_.clear();
  std::visit([&](auto const& fact) { on(now, fact); }, event);
  apply_joint_rules(now);
  leave_will_if_changed();
  remember_if_changed();
  return actions_;
}

// --- joint rules ---------------------------------------------------------------------------------

/// Runs to a fixed point: each rule looks at the sum of the machines, and any may enable another.
void Lifecycle::apply_joint_rules(Instant now) {
  coordinator_.expect_acks_or_hooks(settings_.cleanup_hooks || sdk_may_clean_up());
  drain_ledger(now);  // who left in this step is not refused by what time decides in it
  apply_timers(now);
  apply_admission_time(now);
  apply_own_restart(now);  // after those whose wait is over: the last of them may let us go
  bool changed = true;
  while (changed && !supervisor_ended_) {
    drain_ledger(now);
    changed = apply_disproof(now) || apply_verdict(now) || apply_readiness(now) ||
              apply_hook(now) || apply_move(now, coordinator_.next(now, facts())) ||
              apply_token(now) || apply_cleanup(now);
  }
  apply_silence(now);
  drain_ledger(now);
  if (!supervisor_ended_) {  // nothing is ordered after its exit: who waits asks the next one
    grant_waiters(now);
  }
}

/// Time alone decides these.
void Lifecycle::apply_timers(Instant now) {
  if (!recovered_ && recovery_until_ && now >= *recovery_until_) {
    recovered_ = true;
  }
  if (peers_until_ && (now >= *peers_until_ || peers_are_back())) {
    peers_until_.reset();
  }
  if (shim_ && shim_->lost_at && now >= *shim_->lost_at) {
    shim_lost(now);
  }
  if (awaiting_ && awaiting_->until && now >= *awaiting_->until) {
    end_awaiting("nothing else was seen in time");
  }
  apply_rest(now);
  apply_held(now);
  expire_peers(now);
}

bool Lifecycle::apply_verdict(Instant now) {
  if (coordinator_.is_stopping() || engine_is_leaving()) {
    return false;  // a check causes nothing once a stop has begun, or after a preStop drain
  }
  health_.process_known(shim_.has_value());
  health_.process_running(engine_ == EngineState::running);
  bool const engine_shows_work = settings_.health.tokens_show_stalls && gauges_.shows_work();
  std::size_t const given = ledger_.in_flight() - ledger_.waiting();
  health_.in_flight(now, given + (engine_shows_work ? gauges_.in_flight() : 0));
  health_.update(now);
  Verdict const verdict = health_.verdict();
  if (verdict != told_verdict_) {
    told_verdict_ = verdict;
    act(VerdictChanged{verdict, health_.reason()});
  }
  if (verdict == Verdict::dead) {
    fatal(now, CauseKind::dead, with_first_death(now, health_.reason()));
    return true;
  }
  if (verdict == Verdict::wedged) {
    fatal(now, CauseKind::wedged, with_first_death(now, health_.reason()));
    return true;
  }
  return false;
}

bool Lifecycle::apply_readiness(Instant now) {
  bool const ready = coordinator_.phase() == Phase::starting && !coordinator_.is_stopping() &&
                     recovered_ && !own_restart_ && !awaiting_ && !coordinator_.hook() &&
                     health_.started();
  if (!ready) {
    return false;
  }
  coordinator_.become_ready(now);
  note_phase_change();
  register_everywhere();
  return true;
}

/// An engine that answers nobody is offered nowhere until it is heard again.
void Lifecycle::apply_silence(Instant now) {
  if (supervisor_ended_ || coordinator_.phase() != Phase::serving || own_restart_) {
    return;
  }
  if (is_silent() && registered_) {
    deregister_everywhere(now, true);
  } else if (!is_silent() && !registered_) {
    register_everywhere();
  }
}

bool Lifecycle::apply_move(Instant now, Move move) {
  switch (move) {
    case Move::none:
      return false;
    case Move::enter_draining:
      note_phase_change();
      gauges_.forget();  // what was read before the drain proves nothing
      token_.forget_proof();
      told_graceful_ = endpoints_.active_graceful();
      endpoint_awaited_ = told_graceful_ > 0;
      act(GracefulEndpoints{told_graceful_});
      return true;
    case Move::stop_ungraceful:
      ledger_.cancel_ungraceful(now, endpoints_, CancelMode::stop, CancelReason::migrate);
      return true;
    case Move::kill_ungraceful:
      ledger_.cancel_ungraceful(now, endpoints_, CancelMode::kill, CancelReason::migrate);
      return true;
    case Move::stop_all:
      note_cut_work();
      cancel_all(now, CancelMode::stop, CancelReason::grace_timeout);
      return true;
    case Move::kill_all:
      cancel_all(now, CancelMode::kill, CancelReason::grace_timeout);
      return true;
    case Move::enter_drained:
      note_phase_change();
      return true;
    case Move::end_drained:
      return true;
    case Move::enter_cleaning_up:
      if (!in_flight_known()) {  // what is counted was told when it was cancelled
        note_cut_work();
      }
      note_phase_change();
      begin_cleanup(now, 0);
      return true;
  }
  return false;
}

/// A request of our own goes out, or has to end before what comes next.
bool Lifecycle::apply_token(Instant now) {
  TokenProbe::Facts const known = token_facts();
  token_.observe(now, known);
  if (token_.withdraws(known)) {
    health_.canary_dropped();
    act(WithdrawToken{});
    return true;
  }
  auto const ask = token_.next(now, known);
  if (ask) {
    act(*ask);
  }
  return ask.has_value();
}

bool Lifecycle::apply_cleanup(Instant now) {
  if (coordinator_.phase() != Phase::cleaning_up) {
    return false;
  }
  settle_sdk_cleanup(now);
  CleanupSequence::Next const next = cleanup_.next(now, cleanup_limit(), coordinator_.budgets());
  switch (next.order) {
    case CleanupSequence::Order::none:
      return false;
    case CleanupSequence::Order::start:
      start_cleanup_item(now, next.item, next.deadline);
      return true;
    case CleanupSequence::Order::signal_engine:
      engine_ordered_ = true;
      act(SignalEngine{settings_.stop_signal, false});
      return true;
    case CleanupSequence::Order::kill_engine:
      engine_ordered_ = true;
      engine_killed_ = engine_killed_ || engine_ == EngineState::running;
      act(SignalEngine{"KILL", true});
      return true;
    case CleanupSequence::Order::done:
      if (now < cancels_out_by()) {
        return false;
      }
      finish(now);
      return true;
  }
  return false;
}

/// Unless it was the last thing said in this step: who hears it twice looks for what changed.
void Lifecycle::announce() {
  AnnouncePhase const news{coordinator_.phase(), coordinator_.deadline()};
  auto const last = std::find_if(actions_.rbegin(), actions_.rend(), [](Action const& action) {
    return std::holds_alternative<AnnouncePhase>(action);
  });
  auto const* told = last == actions_.rend() ? nullptr : &std::get<AnnouncePhase>(*last);
  if (told == nullptr || told->phase != news.phase || told->deadline != news.deadline) {
    act(news);
  }
}

void Lifecycle::progressed(Instant now) {
  health_.progressed(now);
  token_.progressed(now);
}

void Lifecycle::count_anew() {
  outcomes_ = {};
  longest_request_ = Duration{0};
  in_flight_at_end_.reset();
}

/// Before it is cut: as many as anybody knows of.
void Lifecycle::note_cut_work() {
  std::uint64_t const told = in_flight_known() ? ledger_.roots_in_flight() : gauges_.last_figure();
  if (!in_flight_at_end_ && told > 0) {
    in_flight_at_end_ = told;
  }
}

void Lifecycle::note_phase_change() {
  if (auto ended = coordinator_.take_ended()) {
    ended->in_flight = in_flight_told();
    act(*ended);
  }
  act(PhaseBegun{coordinator_.phase()});
  announce();
}

/// Turns what the ledger did into endpoint counts, notes and orders.
void Lifecycle::drain_ledger(Instant now) {
  for (AdmissionTicket const ticket : ledger_.withdrawn) {
    admission_.leave(now, ticket);
  }
  for (EndpointSlot const slot : ledger_.moved_from) {
    endpoints_.leave(slot);
  }
  for (RequestLedger::Cancelled const& cancelled : ledger_.cancelled) {
    act(CancelCounted{endpoints_.at(cancelled.slot).name, ledger_.model_name(cancelled.model),
                      cancelled.stream, cancelled.reason, cancelled.from_tier});
  }
  for (RequestLedger::Confirmed const& confirmed : ledger_.confirmed) {
    act(CancelSettled{confirmed.reason, confirmed.elapsed});
  }
  for (RequestLedger::Settled const& settled : ledger_.settled) {
    if (settled.counted) {
      ++outcomes_[static_cast<std::size_t>(settled.outcome)];
      if (settled.outcome == Outcome::error) {
        recent_errors_.ended(now);
      }
      longest_request_ = std::max(longest_request_, settled.elapsed);
      act(RequestSettled{endpoints_.at(settled.slot).name, ledger_.model_name(settled.model),
                         settled.outcome, settled.elapsed, settled.rejected, true,
                         settled.from_tier});
    }
    if (settled.ticket != kNoTicket) {
      admission_.leave(now, settled.ticket);
    }
    endpoints_.leave(settled.slot);
  }
  for (PeerId const peer : ledger_.ready) {
    act(CancelsReady{peer});
  }
  for (RequestLedger::CutOff const& ended : ledger_.cut_off) {
    cut_.ended(now, ended.id, ended.cut);
  }
  ledger_.withdrawn.clear();
  ledger_.moved_from.clear();
  ledger_.cancelled.clear();
  ledger_.confirmed.clear();
  ledger_.settled.clear();
  ledger_.ready.clear();
  ledger_.cut_off.clear();
  tell_endpoints();
}

/// The last endpoint has completed when nothing more can come of one that is not seen any more.
void Lifecycle::tell_endpoints() {
  if (coordinator_.phase() != Phase::draining) {
    return;
  }
  if (endpoints_.active_graceful() != told_graceful_) {
    told_graceful_ = endpoints_.active_graceful();
    endpoint_awaited_ = true;
    act(GracefulEndpoints{told_graceful_});
  }
  if (endpoint_awaited_ && told_graceful_ == 0 && in_flight_known() && !peers_until_) {
    endpoint_awaited_ = false;
    act(LastEndpointCompleted{});
  }
}

}  // namespace lastcall::lifecycle
