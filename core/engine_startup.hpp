// Tracks whether the engine has been ready once, and decides how long it may take to become ready.
//
// Rules:
//  1. It has started when every check has passed once; where a shim is known its process has to run
//     as well. An engine that an earlier life saw ready has started.
//  2. If a shim started the last engine, a shim will start the next one; until that one is known,
//     checks that pass prove nothing about it.
//  3. An engine may have been ready for a long time before it was observed, so it gets time to show
//     it.
//
// Values only, owned by the core's thread. Source: specification, 'Starting'.
#pragma once

#include <algorithm>
#include <optional>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

class EngineStartup {
 public:
  /// Without a shim there is no process check.
  void process_known(bool known) {
    process_known_ = known;
    process_awaited_ = process_awaited_ && !known;
  }
  void process_running(bool running) { process_running_ = running; }
  /// A shim started the last engine and will start the next one.
  void await_process() { process_awaited_ = true; }
  bool awaits_process() const { return process_awaited_; }
  /// `at`: the start of an engine that started before it was known.
  void engine_started(Instant now, std::optional<Instant> at = {}) {
    started_at_ = std::min(now, at.value_or(now));
    known_since_ = now;
    process_running_ = true;
  }
  /// Restored from an earlier life that was past `starting`.
  void assume_over() { assumed_ = true; }

  bool is_over(bool has_checks, bool all_pass) const {
    if (assumed_) {
      return true;
    }
    bool const process_ok = process_known_ ? process_running_ : !process_awaited_;
    return (process_known_ || has_checks) && process_ok && all_pass;
  }
  /// The time at which the start has taken too long; `patience` is the time that an engine gets to
  /// show that it is ready.
  std::optional<Instant> limit(std::optional<Duration> timeout, Duration patience) const {
    if (!timeout || !started_at_) {
      return std::nullopt;
    }
    return std::max(*started_at_ + *timeout, known_since_ + std::min(*timeout, patience));
  }

 private:
  std::optional<Instant> started_at_;
  Instant known_since_;
  bool process_running_ = false;
  bool process_known_ = false;
  bool process_awaited_ = false;
  bool assumed_ = false;
};

}  // namespace lastcall::lifecycle
