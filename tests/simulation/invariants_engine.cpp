// What must hold of the engine's end: which side may signal it and when, and the exit code that it
// gives.
#include <algorithm>

#include "core/engine_tree.hpp"
#include "tests/simulation/invariants.hpp"
#include "tests/simulation/words.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

namespace {

bool is_drain(Phase phase) {
  return phase == Phase::deregistering || phase == Phase::draining || phase == Phase::drained;
}

}  // namespace

// --- the engine, from the events alone -----------------------------------------------------------

/// It is known that nothing is in flight, and nothing went down in this drain.
bool Checker::in_flight_known_idle() const {
  bool const known =
      ingress_counts() || requests_.known() || requests_.source_died() || gauges_idle_;
  return known && requests_.in_flight() == 0 && requests_.lost() == 0;
}

/// Unordered, in the drain of a graceful stop: of one under way, or of the signal that this hello
/// reports, which came first.
bool Checker::ended_in_drain(StepView const& step) const {
  Phase const phase = std::max(before_, restored_phase_.value_or(before_));
  auto const* hello = std::get_if<ShimHello>(&step.event);
  bool const signalled = hello != nullptr && hello->stop_at && hello->exited_at &&
                         *hello->stop_at <= *hello->exited_at;
  return stop_ ? stop_->mode == StopMode::graceful && is_drain(phase)
               : signalled && (phase == Phase::serving || is_drain(phase) ||
                               (phase == Phase::starting && in_flight_before_ > 0));
}

void Checker::engine_exited(StepView const& step, EngineExit const& exit, bool ordered,
                            std::optional<Instant> at) {
  if (engine_ == EngineState::exited) {
    return;
  }
  engine_ = EngineState::exited;
  engine_exit_ = exit;
  if (engine_ordered_ || term_asked_) {
    Instant const ended_at = std::max(step.now, at.value_or(step.now));
    bool const due =
        kill_sent_ || (stop_ && ended_at >= stop_->budgets.engine_kill_at(stop_->deadline));
    main_killed_ = due && exit.signal == 9;
    // Our order crossed its death: what was lost went down with it.
    died_with_work_ = died_with_work_ || (!ordered && (requests_.lost() > 0 || aborted_with_work_));
    work_unclear_ = work_unclear_ || (!ordered && abort_unclear_);
  } else if (ended_in_drain(step)) {
    died_with_work_ = !stop_ || !in_flight_known_idle();  // reported too late for it to be known
    // An earlier life's peers may not be back yet: both answers are honest.
    work_unclear_ = !died_with_work_ && (restored_phase_.has_value() || !may_jump_);
  } else {
    // In phase 3: what a fatal event had cut went down with it; what we cut ourselves did not.
    died_with_work_ = died_with_work_ || aborted_with_work_;
    work_unclear_ = work_unclear_ || abort_unclear_;
  }
}

void Checker::note_rest(StepView const& step, Instant ended_at,
                        std::optional<std::uint32_t> alive) {
  bool const is_first = !rest_ends_by_ && step.after.stop;
  if (is_first && alive.value_or(0) > 0 && (engine_ordered_ || term_asked_) && !kill_sent_) {
    rest_ends_by_ = ended_at + settings_.rest_grace;
  }
  rest_alive_ = alive.value_or(0);
}

/// Exit kills what is left: not before its grace, or the KILL point.
std::string Checker::check_rest(StepView const& step) const {
  if (rest_alive_ == 0 || !rest_ends_by_ || !stop_) {
    return "";
  }
  auto const& stop = step.after.stop;  // none: this step has armed the core again
  Instant const kill_at = stop_->budgets.engine_kill_at(stop ? stop->deadline : stop_->deadline);
  return step.now < std::min(*rest_ends_by_, kill_at)
             ? "the exit is ordered while the rest of the engine has time left"
             : "";
}

/// A fatal event that is not an exit ends the drain of a graceful stop.
void Checker::note_fatal() {
  Phase const phase = std::max(before_, restored_phase_.value_or(before_));
  if (stop_ && stop_->mode == StopMode::graceful && is_drain(phase)) {
    bool const idle = in_flight_known_idle();
    aborted_with_work_ = aborted_with_work_ || !idle;
    abort_unclear_ = abort_unclear_ || (idle && (restored_phase_.has_value() || !may_jump_));
  }
}

void Checker::note_death(Instant now, EngineProcessDied const& death) {
  if (engine_ != EngineState::running || !matches_any(settings_.essential_processes, death.name)) {
    return;
  }
  note_fatal();
  bool const is_asked_to_end = term_asked_ || engine_ordered_;
  if (is_asked_to_end && is_last_of(settings_.essential_processes, death)) {
    main_ends_by_ = now + std::min(settings_.rest_grace, kBereft);
  }
}

void Checker::note_engine(StepView const& step) {
  // A shim that was given up may come back with its engine, to a later life of ours too: no code is
  // wrong then.
  shim_given_up_ = shim_given_up_ || (shim_lost_at_ && step.now >= *shim_lost_at_);
  if (auto const* hello = std::get_if<ShimHello>(&step.event)) {
    if (!shim_known_) {
      note_blob(step, hello->blob);
    }
    shim_lost_at_.reset();
    shim_known_ = shim_connected_ = true;
    exit_ordered_ = false;
    engine_ordered_ = engine_ordered_ || hello->ordered;
    if (hello->engine == EngineState::exited) {
      engine_exited(step, hello->exit, hello->ordered, hello->exited_at);
      note_rest(step, hello->exited_at.value_or(step.now), hello->alive);
    } else {
      engine_ = hello->engine;
    }
  } else if (auto const* record = std::get_if<StopRecordRead>(&step.event)) {
    if (!shim_known_) {
      note_blob(step, record->blob);
    }
  } else if (std::holds_alternative<EngineStarted>(step.event)) {
    engine_ = engine_ == EngineState::waiting ? EngineState::running : engine_;
  } else if (auto const* exited = std::get_if<EngineExited>(&step.event)) {
    int const code =
        engine_ == EngineState::waiting && exited->exit.signal == 0 ? exited->exit.code : 0;
    could_not_run_ = could_not_run_ || code == 126 || code == 127;
    engine_ordered_ = engine_ordered_ || exited->ordered;
    engine_exited(step, exited->exit, exited->ordered, exited->at);
    note_rest(step, step.now, exited->alive);
  } else if (auto const* tree = std::get_if<EngineTreeSeen>(&step.event)) {
    rest_alive_ = tree->alive;
    bool const is_forsaken =
        settings_.main_ends_workers && are_workers(settings_.essential_processes, *tree);
    if (rest_ends_by_ && is_forsaken) {
      rest_ends_by_ = std::min(*rest_ends_by_, step.now);
    }
  } else if (std::holds_alternative<PeerFatal>(step.event)) {
    note_fatal();
  } else if (auto const* death = std::get_if<EngineProcessDied>(&step.event)) {
    note_death(step.now, *death);
  } else if (auto const* gone = std::get_if<ShimDisconnected>(&step.event)) {
    shim_connected_ = false;
    shim_lost_at_ = gone->watched ? std::nullopt : std::optional(step.now + kShimReturn);
  } else if (std::holds_alternative<ShimGone>(step.event)) {
    shim_connected_ = false;
    shim_lost_at_ = step.now;
  } else if (auto const* gauges = std::get_if<GaugesRead>(&step.event)) {
    note_gauges(step.now, *gauges);
  } else if (auto const* sent = std::get_if<TokenSent>(&step.event)) {
    token_sent_ = token_sent_ || (token_out_ && token_out_->number == sent->number);
  } else if (auto const* answer = std::get_if<TokenAnswered>(&step.event)) {
    note_token(*answer);
  }
}

void Checker::forget_gauges() {
  gauges_idle_ = gauges_settled_ = load_is_zero_ = token_proves_ = false;
  gauges_zero_at_.reset();
  gauges_busy_at_.reset();
  gauge_tokens_.reset();
  gauge_cache_.reset();
}

namespace {

bool changes(std::optional<std::uint64_t>& known, std::optional<std::uint64_t> read) {
  bool const has_changed = known && read && *known != *read;
  known = read ? read : known;
  return has_changed;
}

}  // namespace

/// The gauges count our own request for one token once it was sent, and it is subtracted here.
void Checker::note_gauges(Instant now, GaugesRead const& gauges) {
  std::uint64_t const own = token_out_ && token_sent_ ? 1 : 0;
  auto const others = [own](std::uint64_t figure) { return figure > own ? figure - own : 0; };
  load_counts_ = load_counts_ || gauges.load.value_or(0) > 0;
  std::uint64_t const load = load_counts_ && gauges.load ? others(*gauges.load) : 0;
  load_is_zero_ = load_counts_ && gauges.load && load == 0;
  bool const is_busy = load > 0 || (gauges.in_flight && others(*gauges.in_flight) > 0);
  bool const generated = changes(gauge_tokens_, gauges.tokens);
  bool const moved = changes(gauge_cache_, gauges.cache) || generated;
  if (is_busy || (moved && own > 0 && gauges.in_flight)) {
    gauges_busy_at_ = now;
  }
  if (is_busy || !gauges.in_flight) {
    gauges_zero_at_.reset();
    gauges_settled_ = false;
    token_proves_ = token_proves_ && !is_busy;
    busy_after_drained_ |= is_busy && before_ == Phase::drained;
  } else if (!gauges_zero_at_) {
    gauges_zero_at_ = now;
  } else if (settings_.gauge_refresh) {
    gauges_settled_ = now - *gauges_zero_at_ >= *settings_.gauge_refresh;
  }
  gauges_idle_ = gauges_settled_ && (load_is_zero_ || token_proves_);
}

void Checker::note_token(TokenAnswered const& answer) {
  if (!token_out_ || token_out_->number != answer.number) {
    return;
  }
  if (token_out_->use == TokenUse::barrier) {
    token_proves_ = answer.outcome == TokenOutcome::generated;
    gauges_idle_ = gauges_settled_ = false;  // until the gauges are read again
  }
  token_out_.reset();
  token_sent_ = false;
}

std::string Checker::check_ask(StepView const& step, AskToken const& ask) {
  if (token_out_) {
    return "a second request of our own while one is out";
  }
  if (phase_ < Phase::serving || phase_ > Phase::drained || !step.core.health().started()) {
    return "an engine that is not known to be ready is asked for a token";
  }
  if (shim_known_ && engine_ != EngineState::running) {
    return "an engine that does not run is asked for a token";
  }
  bool const drains = phase_ == Phase::draining || phase_ == Phase::drained;
  bool const is_counted =
      step.after.source == InFlightSource::sdk || step.after.source == InFlightSource::ingress;
  if (ask.use == TokenUse::barrier && (!drains || !gauges_zero_at_ || is_counted)) {
    return "a barrier where it proves nothing";
  }
  if (ask.use == TokenUse::canary && (phase_ != Phase::serving || requests_.in_flight() > 0)) {
    return "a canary to an engine that has work or drains";
  }
  token_out_ = ask;
  return {};
}

// --- the engine's end and the exit ---------------------------------------------------------------

namespace {

bool ends_with_rearm(StepView const& step) {
  return std::any_of(step.actions.begin(), step.actions.end(),
                     [](Action const& action) { return std::holds_alternative<Rearm>(action); });
}

}  // namespace

std::string Checker::check_killing(StepView const& step, SignalEngine const& signal) const {
  bool const kill = signal.name == "KILL";
  auto const& core_stop = step.after.stop;
  if (!core_stop) {
    // A deadline that came too late: the same step orders the KILL, ends the stop and rearms.
    bool const is_over = stop_ && kill && ends_with_rearm(step);
    return is_over ? "" : "the engine is signalled without a stop";
  }
  if (phase_ != Phase::cleaning_up) {
    return "the engine is signalled outside of phase 3";
  }
  bool const known = stop_ && stop_->deadline == core_stop->deadline;
  Instant const kill_at = known ? stop_->budgets.engine_kill_at(stop_->deadline)
                                : core_stop->deadline - Duration{1'000};
  if (kill && !signal.all) {
    bool const is_bereft = main_ends_by_ && step.now >= *main_ends_by_;
    return is_bereft ? "" : "the main process alone is killed though it is not bereft";
  }
  bool const is_for_workers = rest_ends_by_ && step.now >= *rest_ends_by_ &&
                              std::holds_alternative<EngineTreeSeen>(step.event);
  if (kill && step.now < kill_at && !is_for_workers) {
    return "the engine is killed at " + text_of(step.now) + ", before " + text_of(kill_at);
  }
  if (kill && !engine_ordered_ && !term_asked_ && step.now < core_stop->deadline && stop_) {
    return "the engine is killed without having been asked to stop";
  }
  return {};
}

int Checker::expected_code() const {
  if (stop_->mode == StopMode::fatal) {
    bool const passes = could_not_run_ || settings_.on_exit == OnExit::propagate;
    if (stop_->cause == CauseKind::engine_exited && passes) {
      return engine_exit_.signal != 0 ? 128 + engine_exit_.signal : engine_exit_.code;
    }
    return 1;
  }
  if (stop_->in_starting) {
    return 0;
  }
  if (died_with_work_) {
    return 1;
  }
  return main_killed_ || engine_ == EngineState::running ? 137 : 0;
}

std::string Checker::check_exit_code(StepView const&, int code) const {
  if (exit_code_ && *exit_code_ != code) {
    return "the exit code changed from " + std::to_string(*exit_code_);
  }
  if (!stop_ || shim_given_up_ || (work_unclear_ && code == 1)) {
    return {};
  }
  int const expected = expected_code();
  return code == expected ? ""
                          : "the exit code is " + std::to_string(code) + ", by the table " +
                                std::to_string(expected);
}

}  // namespace lastcall::simulation
