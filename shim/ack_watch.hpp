// Watches whether the supervisor acknowledges the lines that were sent to it.
//
// Rule: if the oldest unacknowledged line stays so for a second, the supervisor counts as silent,
// until the acknowledgement comes or the connection ends. Pure values on an explicit `now`.
#pragma once

#include <cstdint>
#include <optional>

#include "base/instant.hpp"
#include "shim/deadline_rules.hpp"

namespace lastcall::shim {

class AckWatch {
 public:
  /// The number of the next line that needs an answer.
  std::int64_t next_seq() { return ++last_seq_; }
  void await(Instant now, std::int64_t seq) {
    if (awaited_ == 0) {
      awaited_ = seq;
      silent_at_ = now + kAckTimeout;
    }
  }
  void acknowledged(std::int64_t seq) { awaited_ = seq == awaited_ ? 0 : awaited_; }
  /// Awaits nothing any more: the next hello reports the stop instead.
  void forget() { awaited_ = 0; }

  bool is_silent(Instant now) const { return awaited_ != 0 && now >= silent_at_; }
  std::optional<Instant> next_wake(Instant now) const {
    return awaited_ != 0 && now < silent_at_ ? std::optional(silent_at_) : std::nullopt;
  }

 private:
  std::int64_t last_seq_ = 0;
  std::int64_t awaited_ = 0;  // 0: none
  Instant silent_at_{};
};

}  // namespace lastcall::shim
