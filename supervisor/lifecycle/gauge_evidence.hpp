// What the engine's own gauges prove about the work in it.
//
// Rules:
//  1. Idle is proven by zero twice, one refresh period apart: a gauge that is set once a second may
//     say zero while a request is being scheduled. A busy reading or none starts again.
//  2. A busy reading is knowledge, not silence: it holds a drain, and time without knowledge is
//     counted from the last one.
//  3. Tokens that moved prove life. Tokens that did not prove a stall only where the counter rises
//     with each token, and only by a reading that has both figures.
//
// Values only, owned by the core's thread. Source: the model server protocol's gauges; the design's
// rule on where in-flight comes from.
#pragma once

#include <cstdint>
#include <optional>

#include "supervisor/lifecycle/event.hpp"
#include "supervisor/lifecycle/instant.hpp"

namespace lastcall::lifecycle {

class GaugeEvidence {
 public:
  /// Without a refresh period nothing is ever proven idle.
  explicit GaugeEvidence(std::optional<Duration> refresh) : refresh_(refresh) {}

  /// True: the engine's token counter moved since the reading before.
  bool read(Instant now, GaugesRead const& reading);
  /// We were not running: what was known when that began counts as known until now.
  void listen_anew(Instant now);
  /// What was read so far proves nothing about what comes; the token counter stays known.
  void forget();

  bool is_idle() const { return idle_; }
  std::optional<Instant> busy_at() const { return busy_at_; }
  /// What is known right now: busy by the last reading, or proven idle.
  bool is_known() const { return idle_ || in_flight_.value_or(0) > 0; }
  std::uint64_t in_flight() const { return in_flight_.value_or(0); }
  /// Work whose progress the last reading could have shown.
  bool shows_work() const { return shows_work_; }
  std::optional<Instant> zero_since() const { return zero_since_; }

 private:
  std::optional<Duration> refresh_;
  std::optional<std::uint64_t> in_flight_;  // of the last reading; absent: it had none
  std::optional<std::uint64_t> tokens_;
  std::optional<Instant> zero_since_;
  std::optional<Instant> busy_at_;
  bool idle_ = false;
  bool shows_work_ = false;
};

}  // namespace lastcall::lifecycle
