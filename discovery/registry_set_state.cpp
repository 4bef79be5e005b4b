#include "discovery/registry_set_state.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace lastcall::discovery {

using boost::system::error_code;

namespace {

constexpr char const* kTooLate = "not confirmed in time";

}  // namespace

/// Begins an operation now, or when the running one ends.
void RegistrySet::State::want(Entry& entry, Operation operation) {
  if (entry.wanted == operation) {
    return;  // on its way
  }
  entry.wanted = operation;
  entry.is_held = false;
  entry.retry_timer.cancel();
  entry.began = Clock::now();
  entry.status.attempts = 0;
  entry.status.latency = {};
  entry.status.last_error.clear();
  entry.status.note.clear();
  entry.status.state =
      operation == Operation::enter ? RegistryState::registering : RegistryState::deregistering;
  if (entry.running == Operation::none) {
    attempt(entry);
  } else if (entry.running == Operation::enter && operation == Operation::remove) {
    entry.registry->hurry();
  }
}

bool RegistrySet::State::has_to_wait(Entry const& entry) const {
  return entry.registry->enters_last() &&
         std::any_of(entries.begin(), entries.end(), [](auto const& other) {
           return !other->registry->enters_last() &&
                  other->status.state != RegistryState::registered;
         });
}

/// Called when another registry is registered: those that waited for it may begin.
void RegistrySet::State::release_held() {
  for (auto const& entry : entries) {
    if (entry->is_held && entry->wanted == Operation::enter && !has_to_wait(*entry)) {
      entry->is_held = false;
      attempt(*entry);
    }
  }
}

void RegistrySet::State::attempt(Entry& entry) {
  bool const enters = entry.wanted == Operation::enter;
  if (enters && has_to_wait(entry)) {
    entry.is_held = true;
    return;
  }
  bool const has_budget = !enters && !waiting.empty();
  auto const most = std::max(settings.attempt_timeout, entry.registry->patience());
  begin(entry, enters ? Operation::enter : Operation::remove,
        has_budget ? deadline : Clock::now() + most);
}

void RegistrySet::State::begin(Entry& entry, Operation operation, TimePoint until) {
  entry.running = operation;
  ++entry.status.attempts;
  auto done = [weak = weak_from_this(), &entry, operation](RegistryResult const& result) {
    if (auto const self = weak.lock()) {  // entries live as long as the set
      self->ended(entry, operation, result);
    }
  };
  if (operation == Operation::enter) {
    entry.registry->register_instances(until, std::move(done));
  } else {
    entry.registry->deregister(until, std::move(done));
  }
}

void RegistrySet::State::ended(Entry& entry, Operation operation, RegistryResult const& result) {
  entry.running = Operation::none;
  if (disconnected) {
    return;
  }
  if (entry.wanted != operation && entry.wanted != Operation::none) {
    attempt(entry);  // the other operation was requested meanwhile
    return;
  }
  if (operation == Operation::enter && entry.wanted == Operation::none) {
    // The removal was given up while this registration hung. It is late, but the entry must go.
    want(entry, Operation::remove);
    return;
  }
  if (result.confirmed) {
    bool const entered = operation == Operation::enter;
    entry.status.note = result.reason;
    settle(entry, entered ? RegistryState::registered : RegistryState::deregistered, {});
    return;
  }
  if (entry.wanted == Operation::none) {
    still_there(entry, result.reason);
    return;
  }
  entry.status.last_error = result.reason;
  entry.status.latency = entry.age();
  if (operation == Operation::remove && waiting.empty()) {
    give_up(entry, kTooLate);
    return;
  }
  retry_later(entry, result);
  on_change(entry.status);
}

void RegistrySet::State::retry_later(Entry& entry, RegistryResult const& result) {
  bool const enters = entry.wanted == Operation::enter;
  auto const most = enters ? settings.retry_most : settings.retry_most_in_a_stop;
  auto const doublings = std::min<std::size_t>(entry.status.attempts - 1, 16);
  auto const pause = std::min(settings.retry_first * (1 << doublings), most);
  // Half of the time, so that the next attempt has some, too.
  auto const patience = enters ? settings.retry_after_most
                               : std::chrono::duration_cast<Duration>(deadline - Clock::now()) / 2;
  auto const usual = result.is_hopeless ? settings.retry_most : pause;
  // The usual jitter could make the attempt earlier than the server has asked for.
  auto const asked = std::min(result.retry_after, patience);
  if (asked > usual * 3 / 4) {
    std::uniform_real_distribution<double> jitter(1.0, 1.25);
    attempt_in(entry, std::chrono::duration_cast<Duration>(asked * jitter(random)));
    return;
  }
  attempt_after(entry, usual);
}

void RegistrySet::State::attempt_after(Entry& entry, Duration pause) {
  // Jitter of a quarter in both directions, so that the pods of one rollout do not retry in step.
  std::uniform_real_distribution<double> jitter(0.75, 1.25);
  attempt_in(entry, std::chrono::duration_cast<Duration>(pause * jitter(random)));
}

void RegistrySet::State::attempt_in(Entry& entry, Duration delay) {
  entry.retry_timer.expires_after(delay);
  entry.retry_timer.async_wait([weak = weak_from_this(), &entry,
                                operation = entry.wanted](error_code error) {
    auto const self = weak.lock();
    if (error || !self || entry.wanted != operation || entry.running != Operation::none) {
      return;
    }
    bool const is_left_over = entry.status.state == RegistryState::failed && !self->disconnected;
    if (operation != Operation::none || is_left_over) {
      self->attempt(entry);
    }
  });
}

/// Ends an operation in a final state, reached or given up.
void RegistrySet::State::settle(Entry& entry, RegistryState state, std::string error) {
  entry.wanted = Operation::none;
  entry.retry_timer.cancel();
  entry.status.state = state;
  entry.status.last_error = std::move(error);
  entry.status.latency = entry.age();
  on_change(entry.status);
  end_removal_if_over();
  if (state == RegistryState::registered) {
    release_held();
  }
}

void RegistrySet::State::give_up(Entry& entry, std::string const& why) {
  settle(entry, RegistryState::failed,
         entry.status.last_error.empty() ? why : why + ": " + entry.status.last_error);
  leave_later(entry);
}

/// Tries the removal again, because routers that still know this instance send requests to it.
void RegistrySet::State::leave_later(Entry& entry) {
  if (entry.running == Operation::none && entry.wanted == Operation::none && !disconnected &&
      entry.registry->may_leave_later()) {
    attempt_after(entry, settings.retry_most);
  }
}

/// Reports a failed later removal only once, not for each attempt.
void RegistrySet::State::still_there(Entry& entry, std::string const& reason) {
  bool const is_news =
      std::exchange(entry.status.last_error, kTooLate + (": " + reason)) == kTooLate;
  if (is_news) {
    on_change(entry.status);
  }
  leave_later(entry);
}

void RegistrySet::State::lost(Entry& entry, std::string const& reason) {
  if (entry.status.state != RegistryState::registered) {
    return;  // on its way somewhere anyway
  }
  want(entry, Operation::enter);
  entry.status.last_error = reason;
  on_change(entry.status);
}

/// The expiry of an earlier deadline may be queued already when a later one is set, and ends
/// nothing then.
void RegistrySet::State::arm_deadline() {
  deadline_timer.expires_at(deadline);
  deadline_timer.async_wait([weak = weak_from_this()](error_code error) {
    auto const self = weak.lock();
    if (!error && self && !self->waiting.empty() && self->deadline <= Clock::now()) {
      self->end_removal(kTooLate);
    }
  });
}

void RegistrySet::State::end_removal(std::string const& why) {
  for (auto const& entry : entries) {
    if (entry->status.state == RegistryState::deregistering) {
      give_up(*entry, why);
    }
  }
  end_removal_if_over();
}

void RegistrySet::State::end_removal_if_over() {
  bool const going_on = std::any_of(entries.begin(), entries.end(), [](auto const& entry) {
    return entry->status.state == RegistryState::deregistering;
  });
  if (going_on || waiting.empty()) {
    return;
  }
  deadline_timer.cancel();
  auto const results = all_status();
  for (auto const& done : std::exchange(waiting, {})) {
    done(results);
  }
}

std::vector<RegistryStatus> RegistrySet::State::all_status() const {
  std::vector<RegistryStatus> all;
  all.reserve(entries.size());
  for (auto const& entry : entries) {
    all.push_back(entry->status);
  }
  return all;
}

}  // namespace lastcall::discovery
