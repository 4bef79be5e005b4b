#include "tests/simulation/tamper.hpp"

#include <algorithm>

namespace lastcall::simulation {

using namespace lifecycle;

namespace {

template <typename T>
auto find(std::vector<Action>& actions) {
  return std::find_if(actions.begin(), actions.end(),
                      [](Action const& a) { return std::holds_alternative<T>(a); });
}

template <typename T>
void drop(std::vector<Action>& actions) {
  if (auto const found = find<T>(actions); found != actions.end()) {
    actions.erase(found);
  }
}

template <typename T>
void repeat(std::vector<Action>& actions) {
  if (auto const found = find<T>(actions); found != actions.end()) {
    actions.push_back(Action(*found));
  }
}

}  // namespace

char const* name(Tamper tamper) {
  constexpr std::array<char const*, kTampers> kNames{"none",
                                                     "exit_twice",
                                                     "exit_with_another_code",
                                                     "exit_after_the_deadline",
                                                     "forget_to_remember",
                                                     "remember_last",
                                                     "leave_no_will",
                                                     "leave_a_will_last",
                                                     "signal_before_deregister",
                                                     "kill_at_once",
                                                     "count_a_request_twice",
                                                     "lose_a_request",
                                                     "skip_a_phase",
                                                     "move_the_deadline",
                                                     "start_after_exit",
                                                     "keep_a_hook",
                                                     "release_a_hook_twice",
                                                     "serve_what_goes",
                                                     "admit_twice",
                                                     "lose_an_admission",
                                                     "refuse_twice"};
  return kNames[static_cast<std::size_t>(tamper)];
}

std::span<Action const> Tampering::apply(Instant now, Lifecycle const& core,
                                         std::span<Action const> actions) {
  if (how_ == Tamper::none) {
    return actions;
  }
  changed_.assign(actions.begin(), actions.end());
  change(now, core);
  return changed_;
}

void Tampering::change(Instant now, Lifecycle const& core) {
  bool const signals = find<SignalEngine>(changed_) != changed_.end();
  switch (how_) {
    case Tamper::none:
      break;
    case Tamper::exit_twice:
      repeat<ExitShim>(changed_);
      break;
    case Tamper::exit_with_another_code:
      if (auto const found = find<ExitShim>(changed_); found != changed_.end()) {
        auto& code = std::get<ExitShim>(*found).code;
        code = code == 0 ? 1 : 0;
      }
      break;
    case Tamper::exit_after_the_deadline:
      drop<ExitShim>(changed_);
      drop<ExitSupervisor>(changed_);
      break;
    case Tamper::forget_to_remember:
    case Tamper::remember_last:
    case Tamper::leave_no_will:
    case Tamper::leave_a_will_last:
      change_what_is_left();
      break;
    case Tamper::signal_before_deregister:
      drop<Deregister>(changed_);
      break;
    case Tamper::kill_at_once:
      if (signals) {
        std::get<SignalEngine>(*find<SignalEngine>(changed_)).name = "KILL";
      }
      break;
    case Tamper::count_a_request_twice:
      repeat<RequestSettled>(changed_);
      break;
    case Tamper::lose_a_request:
      drop<RequestSettled>(changed_);
      break;
    case Tamper::skip_a_phase:
      drop<PhaseBegun>(changed_);
      break;
    case Tamper::move_the_deadline:
      if (auto const found = find<StopBegun>(changed_); found != changed_.end()) {
        std::get<StopBegun>(*found).deadline += Duration{1};
      }
      break;
    case Tamper::start_after_exit:
      if (core.snapshot().phase == Phase::exited && now > Instant{}) {
        changed_.push_back(StartEngine{});
      }
      break;
    case Tamper::keep_a_hook:
      drop<ReleaseHook>(changed_);
      break;
    case Tamper::release_a_hook_twice:
      repeat<ReleaseHook>(changed_);
      break;
    case Tamper::serve_what_goes:
      drop<ReplacementEnded>(changed_);
      break;
    case Tamper::admit_twice:
    case Tamper::lose_an_admission:
    case Tamper::refuse_twice:
      change_admission();
      break;
  }
}

/// The will that the shim has for the time after us.
void Tampering::change_what_is_left() {
  if (how_ == Tamper::forget_to_remember) {
    drop<Remember>(changed_);
  } else if (how_ == Tamper::leave_no_will) {
    drop<LeaveWill>(changed_);
  } else if (how_ == Tamper::leave_a_will_last) {
    repeat<LeaveWill>(changed_);
    drop<LeaveWill>(changed_);
  } else if (changed_.size() > 1 && std::holds_alternative<Remember>(changed_.front())) {
    changed_.push_back(changed_.front());
    changed_.erase(changed_.begin());
  }
}

void Tampering::change_admission() {
  if (how_ == Tamper::admit_twice) {
    repeat<Admit>(changed_);
  } else if (how_ == Tamper::lose_an_admission) {
    drop<Admit>(changed_);
  } else {
    repeat<Reject>(changed_);
  }
}

}  // namespace lastcall::simulation
