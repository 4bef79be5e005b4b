#include "probes/listener/probe_state.hpp"

#include <algorithm>

namespace lastcall::probes {

PublishedState::PublishedState() : started_ms_(monotonic_ms()), last_beat_ms_(started_ms_) {}

void PublishedState::publish(ProbeState state) {
  std::lock_guard const lock(mutex_);
  std::swap(state_, state);  // the old one is freed after the lock is released
}

ProbeState PublishedState::read() const {
  std::lock_guard const lock(mutex_);
  return state_;
}

Duration PublishedState::since_beat() const {
  auto const last = last_beat_ms_.load(std::memory_order_relaxed);
  return Duration{std::max<std::int64_t>(0, monotonic_ms() - last)};
}

Duration PublishedState::uptime() const {
  return Duration{monotonic_ms() - started_ms_};
}

}  // namespace lastcall::probes
