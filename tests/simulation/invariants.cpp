#include "tests/simulation/invariants.hpp"

#include <algorithm>

#include "tests/simulation/words.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

namespace {

template <typename T>
bool has(std::span<Action const> actions) {
  return std::any_of(actions.begin(), actions.end(),
                     [](Action const& a) { return std::holds_alternative<T>(a); });
}

/// By the table. A rearm is reported as such, and begins another stop's invariants.
bool is_legal(Phase from, Phase to) {
  auto const& row = kPhaseTable[static_cast<std::size_t>(from)];
  return from != Phase::exited && std::any_of(row.begin(), row.end(), [&](auto const& cell) {
           return cell.kind == CellKind::move && cell.to == to;
         });
}

/// What may still be ordered when the stop has ended.
bool may_follow_exit(Action const& a) {
  return !(std::holds_alternative<SignalEngine>(a) || std::holds_alternative<StartEngine>(a) ||
           std::holds_alternative<Register>(a) || std::holds_alternative<Deregister>(a) ||
           std::holds_alternative<StartCleanup>(a) || std::holds_alternative<CancelsReady>(a) ||
           std::holds_alternative<LeaveWill>(a) || std::holds_alternative<StopBegun>(a));
}

}  // namespace

std::optional<Remembered> remembered_by(std::span<Action const> actions) {
  for (Action const& action : actions) {
    if (auto const* remember = std::get_if<Remember>(&action)) {
      return decode_remembered(remember->blob);
    }
  }
  return std::nullopt;
}

void Checker::new_life() {
  requests_.new_life();
  phase_ = before_ = Phase::starting;
  ended_ = commanded_ = exit_ordered_ = shim_known_ = shim_connected_ = false;
  may_jump_ = true;
  own_signal_ = exit_asked_ = run_mode_ = stop_seen_ = deletion_seen_ = false;
  deletion_is_certain_ = false;
  deletion_told_.reset();
  deletion_disproved_.reset();
  hook_waits_ = hook_answered_ = hook_restored_ = hook_pressed_ = condemned_ = false;
  hook_called_.reset();
  hook_told_.reset();
  own_signal_at_.reset();
  silent_at_.reset();
  pod_grace_ = settings_.pod_grace;
  awaiting_since_.reset();
  engine_ = EngineState::waiting;  // until it is reported to this life
  term_asked_ = false;             // an order that was lost with the connection is not known
  stop_.reset();
  will_.reset();
  shim_lost_at_.reset();
  draining_since_.reset();
  drain_limit_.reset();
  forget_gauges();
  load_counts_ = settings_.load_counts;
  token_out_.reset();
  token_sent_ = false;
}

void Checker::new_boot() {
  registered_ = registered_ && phase_ == Phase::serving;  // without a shim this life went on
  engine_ordered_ = kill_sent_ = died_with_work_ = main_killed_ = false;
  work_unclear_ = shim_given_up_ = term_asked_ = could_not_run_ = false;
  main_ends_by_.reset();
  aborted_with_work_ = abort_unclear_ = false;
  engine_ = EngineState::waiting;
  engine_exit_ = {};
  exit_code_.reset();
  rest_alive_ = 0;
  rest_ends_by_.reset();
}

std::string Checker::check(StepView const& step) {
  before_ = phase_;
  in_flight_before_ = requests_.in_flight();
  rearmed_ = restored_stop_ = hook_read_ = false;
  restored_phase_.reset();
  if (ended_) {
    return "the core took a step after the supervisor's exit";
  }
  note_engine(step);
  note_hook(step);
  std::string wrong = check_order(step);
  if (wrong.empty()) {
    wrong = check_hook(step);
  }
  if (wrong.empty()) {
    wrong = requests_.check(step, before_, settings_.reconnect_window);
  }
  if (wrong.empty()) {
    wrong = check_stop(step);
  }
  if (wrong.empty()) {
    wrong = check_will(step);
  }
  if (wrong.empty()) {
    wrong = check_silence(step);
  }
  if (wrong.empty()) {
    wrong = check_timer(step);
  }
  return wrong;
}

std::string Checker::check_order(StepView const& step) {
  for (std::size_t i = 1; i < step.actions.size(); ++i) {
    if (std::holds_alternative<Remember>(step.actions[i])) {
      return "Remember is not the first action of its step";
    }
  }
  for (Action const& action : step.actions) {
    if (ended_) {
      return "something is ordered after the supervisor's exit";
    }
    if (phase_ == Phase::exited && !may_follow_exit(action)) {
      return "something is ordered after the exit";
    }
    std::string wrong = check_hook_action(step, action);
    wrong = wrong.empty() ? check_action(step, action) : wrong;
    if (!wrong.empty()) {
      return wrong;
    }
  }
  if (phase_ != step.after.phase) {
    return "the phase changed and no peer was notified";
  }
  return check_remembered(step);
}

std::string Checker::check_action(StepView const& step, Action const& action) {
  if (auto const* begun = std::get_if<PhaseBegun>(&action)) {
    return check_phase(step, begun->phase);
  }
  if (std::holds_alternative<StopBegun>(action)) {
    phase_at_stop_ = phase_;
  } else if (auto const* announced = std::get_if<AnnouncePhase>(&action)) {
    return announced->phase == phase_ ? "" : "peers receive another phase than the log";
  }
  if (std::holds_alternative<Register>(action)) {
    if (stop_) {
      return "registered during a stop";
    }
    registered_ = true;
    return phase_ == Phase::serving ? "" : "registered outside of serving";
  }
  if (std::holds_alternative<Deregister>(action)) {
    registered_ = false;
  } else if (std::holds_alternative<StartEngine>(action)) {
    return engine_ == EngineState::waiting && shim_known_ && !stop_
               ? ""
               : "the engine is started though it ran already or a stop is under way";
  } else if (auto const* signal = std::get_if<SignalEngine>(&action)) {
    if (registered_) {
      return "the engine is signalled while the instance is registered";
    }
    bool const kill = signal->name == "KILL";
    std::string wrong = check_killing(step, *signal);
    engine_ordered_ = engine_ordered_ || shim_connected_;  // else the order is lost
    kill_sent_ = kill_sent_ || (kill && signal->all && shim_connected_);
    term_asked_ = term_asked_ || !kill;
    return wrong;
  } else if (auto const* exit = std::get_if<ExitShim>(&action)) {
    if (exit_ordered_) {
      return "the shim's exit is ordered twice";
    }
    exit_ordered_ = true;
    if (std::string problem = check_rest(step); !problem.empty()) {
      return problem;
    }
    return check_exit_code(step, exit->code);
  } else if (std::holds_alternative<PublishReport>(action)) {
    return phase_ == Phase::exited && before_ != Phase::exited
               ? ""
               : "a report is published before the exit, or again after it";
  } else if (auto const* ask = std::get_if<AskToken>(&action)) {
    return check_ask(step, *ask);
  } else if (std::holds_alternative<WithdrawToken>(action)) {
    token_out_.reset();
    token_sent_ = false;
  } else if (std::holds_alternative<ExitSupervisor>(action)) {
    ended_ = true;
  } else if (std::holds_alternative<Rearm>(action)) {
    if (phase_ != Phase::exited) {
      return "rearmed before the stop has ended";
    }
    phase_ = Phase::starting;
    stop_.reset();
    rearmed_ = may_jump_ = true;
    requests_.rearm();
    term_asked_ = kill_sent_ = aborted_with_work_ = abort_unclear_ = false;
    main_ends_by_.reset();
    silent_at_.reset();              // of another engine
    engine_ = EngineState::waiting;  // the same boot may come back and report again
    forget_gauges();
    load_counts_ = settings_.load_counts;
    shim_known_ = shim_connected_ = exit_ordered_ = false;
  }
  return {};
}

std::string Checker::check_phase(StepView const& step, Phase to) {
  Phase const from = phase_;
  phase_ = to;
  if (from == to && to == Phase::starting) {
    return {};  // announced again after a rearm
  }
  bool const hello = std::holds_alternative<ShimHello>(step.event) ||
                     std::holds_alternative<StopRecordRead>(step.event);
  if (hello && may_jump_ && (restored_phase_ ? to > from : to == from)) {
    may_jump_ = false;  // where the earlier life was
    if (to != Phase::draining || restored_phase_ != Phase::draining || !draining_since_) {
      draining_since_ = to == Phase::draining ? step.after.phase_began : step.now;
    }  // else the blob had it; this step may have left the phase again
    return {};
  }
  if (to == Phase::deregistering || (from < Phase::deregistering && to == Phase::cleaning_up)) {
    requests_.begin_counting(0);
  }
  if (to == Phase::draining) {
    forget_gauges();  // what was read before proves nothing
  }
  draining_since_ = to == Phase::draining ? std::optional(step.now) : draining_since_;
  if (!is_legal(from, to)) {
    return "illegal move from " + std::string(name(from)) + " to " + std::string(name(to));
  }
  if (stop_ && to < from) {
    return "the phase fell within a stop";
  }
  return {};
}

/// What is ordered next must not be lost with the supervisor.
std::string Checker::check_remembered(StepView const& step) {
  bool const began = has<StopBegun>(step.actions) || phase_ != before_;
  bool const matters = phase_ != Phase::starting && !has<Rearm>(step.actions);
  if (!began || !matters || !shim_connected_) {
    return {};
  }
  if (step.actions.empty() || !std::holds_alternative<Remember>(step.actions.front())) {
    return "the phase or the stop changed and nothing is remembered";
  }
  if (!step.remembered || step.remembered->progress.phase != phase_) {
    return "another phase is remembered than the one that was entered";
  }
  auto const& core_stop = step.after.stop;
  auto const& stop = step.remembered->progress.stop;
  if (stop.has_value() != core_stop.has_value() ||
      (core_stop && stop->deadline != core_stop->deadline)) {
    return "another stop or deadline is remembered than the one that holds";
  }
  return {};
}

/// A supervisor that is frozen or killed after its next word has left a will.
std::string Checker::check_will(StepView const& step) {
  bool const says_hello = std::holds_alternative<ShimHello>(step.event);
  will_ = says_hello ? std::nullopt : will_;
  for (std::size_t i = 0; i < step.actions.size(); ++i) {
    if (auto const* will = std::get_if<LeaveWill>(&step.actions[i])) {
      bool const is_first = i == 0 || (i == 1 && std::holds_alternative<Remember>(step.actions[0]));
      if (!is_first) {
        return "something is ordered or said before the will of its step";
      }
      if (!shim_connected_ || will_ == *will) {
        return "a will is left with nobody, or again";
      }
      will_ = *will;
    }
  }
  auto const& stop = step.after.stop;
  if (!shim_connected_ || !stop || step.after.phase == Phase::exited) {
    return {};
  }
  if (!will_ || will_->phase != step.after.phase || will_->mode != stop->mode ||
      will_->deadline != stop->deadline) {
    return "the shim's will says another stop than the one that holds";
  }
  bool const is_certain = stop->mode == StopMode::fatal || stop->in_starting;
  if (!will_->code) {
    return is_certain ? "the will of a stop whose code is certain has none" : "";
  }
  return check_exit_code(step, *will_->code);
}

/// Where it serves and is not about to leave, its registration follows what is reported about the
/// engine.
std::string Checker::check_silence(StepView const& step) {
  for (Action const& action : step.actions) {
    auto const* changed = std::get_if<VerdictChanged>(&action);
    if (changed == nullptr || changed->verdict != Verdict::unresponsive) {
      continue;
    }
    if (silent_at_ && step.now < *silent_at_ + kSilenceCycle) {
      return "the engine fell silent at " + text_of(step.now) + " and before at " +
             text_of(*silent_at_);
    }
    silent_at_ = step.now;
  }
  bool const serves = step.after.phase == Phase::serving && !step.after.stop &&
                      !step.after.own_restart && settings_.registries > 0 && !ended_;
  if (!serves) {
    return {};
  }
  if (step.after.verdict == Verdict::unresponsive) {
    return registered_ ? "an engine that answers nobody is registered" : "";
  }
  return registered_ ? "" : "an engine that serves is registered nowhere";
}

std::string Checker::check_timer(StepView const& step) {
  auto const next = step.core.next_deadline();
  if (next && *next <= step.now) {
    return "the next deadline " + text_of(*next) + " is not in the future";
  }
  return {};
}

}  // namespace lastcall::simulation
