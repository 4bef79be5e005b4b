// The checker's own view of admission: which requests have a place, which wait and since when, by
// the events and the answers alone.
#include <algorithm>
#include <utility>

#include "tests/simulation/invariants.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

namespace {

template <typename Answer>
bool has_answer(std::span<Action const> actions, PeerId peer, std::string_view id) {
  return std::any_of(actions.begin(), actions.end(), [&](Action const& action) {
    auto const* answer = std::get_if<Answer>(&action);
    return answer != nullptr && answer->peer == peer && answer->id == id;
  });
}

bool is_cancelled(StepView const& step, PeerId peer, std::string_view id) {
  return std::any_of(step.delivered.begin(), step.delivered.end(),
                     [&](auto const& cancel) { return cancel.peer == peer && cancel.id == id; });
}

}  // namespace

bool RequestOracle::was_rejected(StepView const& step, PeerId peer, std::string_view id) {
  return has_answer<Reject>(step.actions, peer, id);
}

std::size_t RequestOracle::standing(Stands stands) const {
  return static_cast<std::size_t>(std::count_if(live_.begin(), live_.end(), [&](auto const& entry) {
    return entry.second.stands == stands;
  }));
}

/// What became of a request that has just begun.
RequestOracle::Stands RequestOracle::stands_of(StepView const& step,
                                               RequestBegun const& begun) const {
  Live const* whole = whole_of(begun);
  if (whole == nullptr && begun.root != begun.id) {
    whole = named(begun.peer, begun.root);  // counted apart, but its place is the user's
  }
  bool const runs =
      whole != nullptr && (whole->stands == Stands::place || whole->stands == Stands::part);
  if (runs) {
    return Stands::part;
  }
  if (!begun.admit || begun.resumed || has_answer<Admit>(step.actions, begun.peer, begun.id)) {
    return Stands::place;
  }
  return is_cancelled(step, begun.peer, begun.id) ? Stands::withdrawn : Stands::waiting;
}

/// A refusal for lack of room has a reason in the limits; where there is none, no request is
/// refused.
std::string RequestOracle::check_arrival(StepView const& step, RequestBegun const& begun) const {
  AdmissionLimits const& limits = step.after.admission.limits;
  std::size_t const waiting = standing(Stands::waiting);
  auto const* rejected = [&]() -> Reject const* {
    for (Action const& action : step.actions) {
      auto const* reject = std::get_if<Reject>(&action);
      if (reject != nullptr && reject->peer == begun.peer && reject->id == begun.id) {
        return reject;
      }
    }
    return nullptr;
  }();
  bool const is_known = std::any_of(live_.begin(), live_.end(), [&](auto const& entry) {
    return entry.first.second == begun.id;  // it may go on, or be refused as a duplicate
  });
  bool const asks = begun.admit && !begun.resumed && !is_known;
  if (rejected == nullptr && asks && was_silent_ && step.after.silent &&
      stands_of(step, begun) == Stands::place) {
    return "'" + begun.id + "' was admitted to an engine that answers nobody";
  }
  if (rejected == nullptr || rejected->reason != RejectedReason::overloaded) {
    return {};
  }
  if (rejected->silent) {
    return was_silent_ ? "" : "'" + begun.id + "' was refused for an engine that answers";
  }
  bool const is_full = limits.running && standing(Stands::place) >= *limits.running;
  bool const is_silent = limits.first_byte.has_value();
  bool const may_wait = waiting < limits.waiting;
  bool const may_be_busy = ranks_told_load_ || standing(Stands::place) > 0;
  bool const is_busy = step.after.admission.busy && may_be_busy;
  if (!is_busy && (may_wait || (waiting == 0 && !is_full && !is_silent))) {
    return "'" + begun.id + "' was refused though there was room";
  }
  if (rejected->limit && *rejected->count < *rejected->limit && !is_silent) {
    return "'" + begun.id + "' was refused below the limit that it received";
  }
  return {};
}

/// The first that should be granted among those that wait.
RequestOracle::Live const* RequestOracle::first_waiter(bool priorities) const {
  Live const* first = nullptr;
  for (auto const& [key, live] : live_) {
    if (live.stands != Stands::waiting) {
      continue;
    }
    auto const rank = [&](Live const& l) {
      return std::pair(priorities ? l.priority : kUsualPriority, l.order);
    };
    if (first == nullptr || rank(live) < rank(*first)) {
      first = &live;
    }
  }
  return first;
}

/// Every waiter gets one answer, in order: a refusal, a cancel, or its place.
std::string RequestOracle::check_answers(StepView const& step, Phase before) {
  AdmissionLimits const& limits = step.after.admission.limits;
  auto const* begun = std::get_if<RequestBegun>(&step.event);
  bool is_answered = false;
  auto const answers_begin = [&](PeerId peer, std::string_view id) {
    return begun != nullptr && begun->peer == peer && begun->id == id &&
           !std::exchange(is_answered, true);
  };
  for (Action const& action : step.actions) {
    auto const* reject = std::get_if<Reject>(&action);
    if (reject == nullptr) {
      continue;
    }
    auto const found = live_.find({reject->peer, reject->id});
    if (found == live_.end()) {
      if (!answers_begin(reject->peer, reject->id)) {
        return "'" + reject->id + "' was refused though it did not ask";
      }
      continue;
    }
    if (found->second.stands != Stands::waiting) {
      return "'" + reject->id + "' was refused though it did not wait";
    }
    bool const is_due =
        limits.wait_timeout && step.now >= found->second.arrived + *limits.wait_timeout;
    if (reject->reason == RejectedReason::queue_timeout
            ? !is_due
            : std::max(before, step.after.phase) <= Phase::serving) {
      return "'" + reject->id + "' was refused in the queue without a reason";
    }
    remove(found);
  }
  for (Delivered const& cancel : step.delivered) {
    if (auto const found = live_.find({cancel.peer, cancel.id});
        found != live_.end() && found->second.stands == Stands::waiting) {
      found->second.stands = Stands::withdrawn;
    }
  }
  for (Action const& action : step.actions) {
    auto const* admit = std::get_if<Admit>(&action);
    auto const found =
        admit == nullptr ? live_.end() : live_.find({admit->peer, std::string(admit->id)});
    if (admit == nullptr) {
      continue;
    }
    if (found == live_.end() || found->second.stands != Stands::waiting) {
      if (!answers_begin(admit->peer, admit->id)) {
        return "'" + std::string(admit->id) + "' was admitted though it did not wait";
      }
      continue;
    }
    if (first_waiter(limits.priorities) != &found->second) {
      return "'" + std::string(admit->id) + "' was granted before its turn";
    }
    found->second.stands = Stands::place;
    if (limits.running && standing(Stands::place) > *limits.running) {
      return "'" + std::string(admit->id) + "' was granted above the limit";
    }
  }
  return {};
}

std::string RequestOracle::check_admission(StepView const& step) const {
  AdmissionState const& announced = step.after.admission;
  if (announced.running != standing(Stands::place) ||
      announced.waiting != standing(Stands::waiting)) {
    return std::to_string(standing(Stands::place)) + " have a place and " +
           std::to_string(standing(Stands::waiting)) + " wait, the core says " +
           std::to_string(announced.running) + " and " + std::to_string(announced.waiting);
  }
  bool const has_ended = std::any_of(
      step.actions.begin(), step.actions.end(),
      [](Action const& action) { return std::holds_alternative<ExitSupervisor>(action); });
  if (has_ended) {
    return {};  // a waiter asks the next one
  }
  bool const has_place = !announced.limits.running || announced.running < *announced.limits.running;
  bool const may_begin = !announced.limits.first_byte;
  if (announced.waiting > 0 && has_place && may_begin) {
    return "a place is free, and somebody waits for one";
  }
  for (auto const& [key, live] : live_) {
    if (live.stands == Stands::waiting && announced.limits.wait_timeout &&
        step.now >= live.arrived + *announced.limits.wait_timeout) {
      return "'" + key.second + "' waits for longer than the limit";
    }
  }
  return {};
}

}  // namespace lastcall::simulation
