#include "discovery/registry_set_state.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::discovery {

using boost::system::error_code;

std::string_view name(RegistryState state) {
  switch (state) {
    case RegistryState::idle:
      return "idle";
    case RegistryState::registering:
      return "registering";
    case RegistryState::registered:
      return "registered";
    case RegistryState::deregistering:
      return "deregistering";
    case RegistryState::deregistered:
      return "deregistered";
    case RegistryState::failed:
      return "failed";
  }
  return "unknown";
}

/// Begins an operation, or leaves that to the end of the one that is running.
void RegistrySet::State::want(Entry& entry, Operation operation) {
  if (entry.wanted == operation) {
    return;  // on its way
  }
  entry.wanted = operation;
  entry.retry_timer.cancel();
  entry.began = Clock::now();
  entry.status.attempts = 0;
  entry.status.last_error.clear();
  entry.status.state =
      operation == Operation::enter ? RegistryState::registering : RegistryState::deregistering;
  if (entry.running == Operation::none) {
    attempt(entry);
  } else if (operation == Operation::remove) {
    entry.registry->hurry();
  }
}

void RegistrySet::State::attempt(Entry& entry) {
  auto const operation = entry.wanted;
  entry.running = operation;
  ++entry.status.attempts;
  auto done = [weak = weak_from_this(), &entry, operation](RegistryResult const& result) {
    if (auto const self = weak.lock()) {  // entries live as long as the set
      self->ended(entry, operation, result);
    }
  };
  if (operation == Operation::enter) {
    entry.registry->register_instances(Clock::now() + settings.attempt_timeout, std::move(done));
  } else {
    entry.registry->deregister(deadline, std::move(done));
  }
}

void RegistrySet::State::ended(Entry& entry, Operation operation, RegistryResult const& result) {
  entry.running = Operation::none;
  if (disconnected) {
    return;
  }
  if (entry.wanted != operation && entry.wanted != Operation::none) {
    attempt(entry);  // the other one was asked for meanwhile
    return;
  }
  if (operation == Operation::enter && entry.wanted == Operation::none) {
    // The removal was given up while this hung. It is late, but the entry must not stay.
    deadline = Clock::now() + settings.attempt_timeout;
    want(entry, Operation::remove);
    return;
  }
  if (result.confirmed) {
    bool const entered = operation == Operation::enter;
    settle(entry, entered ? RegistryState::registered : RegistryState::deregistered, {});
    return;
  }
  entry.status.last_error = result.reason;
  if (operation == Operation::remove && waiting.empty()) {
    give_up(entry, "not confirmed in time");
    return;
  }
  if (entry.wanted == operation) {
    retry_later(entry);
  }
  on_change(entry.status);
}

void RegistrySet::State::retry_later(Entry& entry) {
  auto const most =
      entry.wanted == Operation::enter ? settings.retry_most : settings.retry_most_in_a_stop;
  auto const doublings = std::min<std::size_t>(entry.status.attempts - 1, 16);
  auto const base = std::min(settings.retry_first * (1 << doublings), most);
  // A quarter either way, so that the pods of one rollout do not come back in step.
  std::uniform_real_distribution<double> jitter(0.75, 1.25);
  auto const delay = std::chrono::duration_cast<Clock::duration>(base * jitter(random));
  entry.retry_timer.expires_after(delay);
  entry.retry_timer.async_wait(
      [weak = weak_from_this(), &entry, operation = entry.wanted](error_code error) {
        auto const self = weak.lock();
        if (!error && self && entry.wanted == operation && entry.running == Operation::none) {
          self->attempt(entry);
        }
      });
}

/// A final state of an operation, reached or given up.
void RegistrySet::State::settle(Entry& entry, RegistryState state, std::string error) {
  entry.wanted = Operation::none;
  entry.retry_timer.cancel();
  entry.status.state = state;
  entry.status.last_error = std::move(error);
  entry.status.latency = std::chrono::duration_cast<Duration>(Clock::now() - entry.began);
  on_change(entry.status);
  end_removal_if_over();
}

void RegistrySet::State::give_up(Entry& entry, std::string const& why) {
  settle(entry, RegistryState::failed,
         entry.status.last_error.empty() ? why : why + ": " + entry.status.last_error);
}

void RegistrySet::State::lost(Entry& entry, std::string const& reason) {
  if (entry.status.state != RegistryState::registered) {
    return;  // on its way somewhere anyway
  }
  want(entry, Operation::enter);
  entry.status.last_error = reason;
  on_change(entry.status);
}

void RegistrySet::State::arm_deadline() {
  deadline_timer.expires_at(deadline);
  deadline_timer.async_wait([weak = weak_from_this()](error_code error) {
    auto const self = weak.lock();
    if (!error && self && !self->waiting.empty()) {
      self->end_removal("not confirmed in time");
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
