// Measures how far a body is behind the slowest pace that is allowed: one byte per millisecond.
//
// A client that sends a byte now and then must not hold a place for ever, so the delay of a body
// adds up to no more than the silence that is allowed. Time in which nothing was read does not
// count. Pure, no thread rule. Source: docs/ingress.md, 'What counts'.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace lastcall::relay {

class Pace {
 public:
  using Time = std::chrono::milliseconds;

  /// The wait for the next part begins now, unless it has begun already.
  void await(Time now) {
    if (since_ == kNotAwaited) {
      since_ = now;
    }
  }
  /// Nothing is read from now on.
  void pause() { since_ = kNotAwaited; }
  /// Counts bytes that have arrived. Returns false if they came too slowly.
  bool took(std::size_t bytes, Time now, std::optional<Time> limit) {
    if (Time const since = std::exchange(since_, kNotAwaited); since != kNotAwaited) {
      behind_ = std::max(behind_ + (now - since) - Time(bytes), Time{});
    }
    return !limit || behind_ <= *limit;
  }

 private:
  static constexpr Time kNotAwaited = Time::min();

  Time since_ = kNotAwaited;
  Time behind_{};
};

}  // namespace lastcall::relay
