// How far a request is cancelled, and why.
//
// Rules:
//  1. The level only rises.
//  2. The first cancel sets the reasons; a kill after a stop does not replace them.
//
// Thread rule: level() from any thread, without a lock; the rest under the TreeLock. Source:
// RequestContext, rule 1.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include <lastcall/words.hpp>

namespace lastcall::sdk {

enum class Level : std::uint8_t { live, stopped, killed };

class Cancellation {
 public:
  Level level() const { return level_.load(std::memory_order_acquire); }
  std::optional<Reason> reason() const { return reason_; }
  /// The reason at the place where the cancel began; `parent` if that place was not known here.
  std::optional<Reason> cause() const { return cause_; }

  void rise(Level level, Reason reason, Reason cause) {
    if (this->level() == Level::live) {
      reason_ = reason;
      cause_ = cause;
    }
    level_.store(level, std::memory_order_release);
  }

 private:
  std::atomic<Level> level_{Level::live};
  std::optional<Reason> reason_;
  std::optional<Reason> cause_;
};

}  // namespace lastcall::sdk
