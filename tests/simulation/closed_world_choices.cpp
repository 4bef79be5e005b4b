// What may happen next in the closed world, and how it happens.
#include "tests/simulation/closed_world.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

namespace {

constexpr auto* kFirstRequest = "graceful";

}  // namespace

std::vector<Choice> ClosedWorld::enabled() const {
  std::vector<Choice> choices;
  if (over_) {
    return choices;
  }
  auto const add = [&choices](bool may, Choice choice) {
    if (may) {
      choices.push_back(choice);
    }
  };
  bool const running = shim_.engine == EngineState::running;
  bool const may_fail = faults_ < limits_.faults;
  add(core_->next_deadline().has_value(), Choice::time_passes);
  add(signals_ < limits_.signals && !is_alone(), Choice::signal);
  add(drains_ < limits_.drains, Choice::drain);
  add(drains_ < limits_.drains, Choice::drain_exit);
  add(drains_ < limits_.drains && drains_ > 0, Choice::resume);
  add(running, Choice::engine_ends);
  add(running && may_fail, Choice::engine_is_killed);
  add(peer_connected_ && !requests_[0].ever && limits_.requests > 0, Choice::begin_graceful);
  add(can_speak(1) && !requests_[1].ever && limits_.requests > 1, Choice::begin_other);
  add(peer_connected_ && requests_[0].live, Choice::end_graceful);
  add(can_speak(1) && requests_[1].live, Choice::end_other);
  add(registry_asked_, Choice::registry_confirms);
  add(registry_asked_ && may_fail, Choice::registry_fails);
  add(hook_runs_, Choice::hook_ends);
  add(registries_closing_, Choice::registries_close);
  add(ack_asked_ && peer_connected_, Choice::peer_acks);
  add(peer_connected_ && may_fail, Choice::peer_fatal);
  add(shim_.connected && shim_drops_ < limits_.shim_drops, Choice::shim_drops);
  add(!shim_.connected && !is_alone(), Choice::shim_returns);
  add(peer_connected_ && peer_drops_ < limits_.peer_drops, Choice::peer_drops);
  add(!peer_connected_ && !limits_.gauges, Choice::peer_returns);
  add(limits_.gauges && running, Choice::gauges_zero);
  add(limits_.gauges && running, Choice::gauges_busy);
  add(token_out_.has_value(), Choice::token_generated);
  add(token_out_.has_value(), Choice::token_refused);
  add(kills_ < limits_.kills, Choice::supervisor_dies);
  add(restarts_ < limits_.restarts, Choice::own_signal);
  add(is_sidecar() && !deletion_, Choice::deletion_read);
  if (is_alone()) {
    add_alone(choices);
  }
  if (limits_.freezes > 0) {
    add_frozen(choices);
  }
  return choices;
}

/// Adds what may happen to an engine whose check may not be answered for a while.
void ClosedWorld::add_frozen(std::vector<Choice>& choices) const {
  Snapshot const seen = core_->snapshot();
  if (seen.stop || shim_.engine != EngineState::running || !shim_.connected) {
    return;
  }
  bool const is_well = seen.verdict == Verdict::healthy;
  bool const may_freeze = core_->health().started() && freezes_ < limits_.freezes;
  if (!is_well) {
    choices.push_back(Choice::check_passes);
  }
  if (may_freeze) {
    choices.push_back(Choice::check_times_out);
    choices.push_back(Choice::process_stops);
  }
  if (!is_well && peer_connected_ && requests_[0].live) {
    choices.push_back(Choice::bytes_move);
  }
}

std::string ClosedWorld::take_frozen(Choice choice) {
  if (choice == Choice::bytes_move) {
    return notify(RequestProgressed{.peer = conn_, .ids = {kFirstRequest}});
  }
  ++freezes_;
  if (choice == Choice::process_stops) {
    return notify(EngineProcessStopped{.pid = 17, .name = "engine"});
  }
  return notify(CheckFinished{
      .check = 0, .verdict = CheckVerdict::timed_out, .detail = {}, .took = Duration{1'000}});
}

/// Adds what may happen beside an engine without a shim.
void ClosedWorld::add_alone(std::vector<Choice>& choices) const {
  auto const add = [&choices](bool may, Choice choice) {
    if (may) {
      choices.push_back(choice);
    }
  };
  Snapshot const seen = core_->snapshot();
  add(signals_ < limits_.signals, Choice::own_signal);
  add(hooks_ < limits_.hooks, Choice::hook_called);
  add(!deletion_, Choice::deletion_seen);
  bool const judges = !seen.stop && !seen.replacement;
  bool const started = core_->health().started();
  add(judges && !started, Choice::check_passes);
  add(judges && started && faults_ < limits_.faults, Choice::check_fails);
  add(seen.replacement.has_value(), Choice::engine_replaced);
}

std::string ClosedWorld::take_alone(Choice choice) {
  if (choice == Choice::own_signal) {
    ++(is_sidecar() ? restarts_ : signals_);
    return notify(OwnSignal{"TERM"});
  }
  if (choice == Choice::hook_called) {
    ++hooks_;
    return notify(EngineStopHook{});
  }
  if (choice == Choice::deletion_seen) {
    deletion_ = true;
    return notify(DeletionSeen{.grace = {}});
  }
  if (choice == Choice::deletion_read) {
    deletion_ = true;
    return notify(DeletionSeen{.grace = Duration{10'000}});
  }
  if (choice == Choice::engine_replaced) {
    return notify(EngineReplaced{"refused"});
  }
  if (choice == Choice::check_times_out || choice == Choice::process_stops ||
      choice == Choice::bytes_move) {
    return take_frozen(choice);
  }
  faults_ += choice == Choice::check_fails ? 1 : 0;
  return notify(CheckFinished{
      .check = 0,
      .verdict = choice == Choice::check_fails ? CheckVerdict::failed : CheckVerdict::passed});
}

/// An item of phase 3 is done.
std::string ClosedWorld::take_cleanup(Choice choice) {
  if (choice == Choice::peer_acks) {
    ack_asked_ = false;
    return notify(PeerCleanedUp{conn_});
  }
  bool const is_hook = choice == Choice::hook_ends;
  (is_hook ? hook_runs_ : registries_closing_) = false;
  return notify(
      CleanupSettled{.item = is_hook ? CleanupItem::hooks : CleanupItem::registries, .detail = {}});
}

std::string ClosedWorld::take_gauges(Choice choice) {
  if (choice == Choice::gauges_zero || choice == Choice::gauges_busy) {
    std::uint64_t const figure = choice == Choice::gauges_busy ? 2 : 0;
    return notify(GaugesRead{.in_flight = figure, .tokens = {}, .load = {}});
  }
  TokenOutcome const outcome =
      choice == Choice::token_generated ? TokenOutcome::generated : TokenOutcome::refused;
  std::uint64_t const number = token_out_->number;
  token_out_.reset();
  return notify(TokenAnswered{.number = number, .outcome = outcome});
}

std::uint64_t ClosedWorld::what_follows() const {
  std::uint64_t choices = 0;
  for (Choice const choice : enabled()) {
    choices |= std::uint64_t{1} << static_cast<unsigned>(choice);
  }
  auto const deadline = over_ ? std::nullopt : core_->next_deadline();
  auto const left = static_cast<std::uint64_t>(deadline ? to_ms(*deadline - now_) : 0);
  return choices | left << kChoices;
}

std::string ClosedWorld::take(Choice choice) {
  switch (choice) {
    case Choice::time_passes:
      now_ = *core_->next_deadline();
      return notify(TimerExpired{});
    case Choice::signal:
      return take_signal();
    case Choice::drain:
    case Choice::drain_exit:
      ++drains_;
      return notify(DrainRequested{.exit = choice == Choice::drain_exit, .timeout = {}});
    case Choice::resume:
      ++drains_;
      return notify(ResumeRequested{});
    case Choice::engine_ends:
    case Choice::engine_is_killed:
      faults_ += choice == Choice::engine_is_killed ? 1 : 0;
      return end_engine(choice == Choice::engine_is_killed ? 9 : 0);
    case Choice::begin_graceful:
    case Choice::begin_other:
      return begin(choice == Choice::begin_other ? 1 : 0, false);
    case Choice::end_graceful:
    case Choice::end_other:
      return end(choice == Choice::end_other ? 1 : 0);
    case Choice::registry_confirms:
    case Choice::registry_fails:
      faults_ += choice == Choice::registry_fails ? 1 : 0;
      registry_asked_ = false;
      return notify(RegistrySettled{
          .registry = 0, .confirmed = choice == Choice::registry_confirms, .detail = {}});
    case Choice::hook_ends:
    case Choice::registries_close:
    case Choice::peer_acks:
      return take_cleanup(choice);
    case Choice::peer_fatal:
      ++faults_;
      return notify(PeerFatal{.peer = conn_, .reason = "engine_dead", .detail = {}});
    case Choice::shim_drops:
      ++shim_drops_;
      shim_.connected = false;
      return notify(ShimDisconnected{.watched = true});
    case Choice::shim_returns:
      return shim_says_hello();
    case Choice::peer_drops:
      ++peer_drops_;
      peer_connected_ = false;
      return notify(PeerDisconnected{conn_});
    case Choice::peer_returns:
      return peer_says_hello();
    case Choice::supervisor_dies:
      return start_again();
    case Choice::own_signal:
    case Choice::hook_called:
    case Choice::deletion_seen:
    case Choice::check_passes:
    case Choice::check_fails:
    case Choice::engine_replaced:
    case Choice::deletion_read:
    case Choice::check_times_out:
    case Choice::process_stops:
    case Choice::bytes_move:
      return take_alone(choice);
    case Choice::gauges_zero:
    case Choice::gauges_busy:
    case Choice::token_generated:
    case Choice::token_refused:
      return take_gauges(choice);
  }
  return {};
}

}  // namespace lastcall::simulation
