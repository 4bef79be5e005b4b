// Computes when a request that is refused now should be sent again, from how long places were held.
//
// Rules:
//  1. The mean time that a place was held is a moving average, with a weight of 1/8 for the newest.
//  2. Requests that were refused together get different slots, so that they come back one by one,
//     as places become free.
//
// Owned by the core's thread; no clock. Source: specification, 'Admission'.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

/// The answer to a refused request before anything was measured, and the bounds of that answer.
inline constexpr Duration kRetryDefault{1'000};
inline constexpr Duration kRetryLeast{100};
inline constexpr Duration kRetryMost{60'000};

class RetrySlots {
 public:
  /// A place was held for this long.
  void held_for(Duration time);
  /// The mean, times the number of requests ahead, divided by the number of places. It rises with
  /// the queue and the mean, and falls with N. The result is between kRetryLeast and kRetryMost.
  Duration retry_after(std::size_t waiting, std::size_t places) const;
  /// The same, but one slot after the last one that was given. A slot is the mean time between two
  /// places that become free; after kRetryMost the slots begin again.
  Duration take(Instant now, std::size_t waiting, std::size_t places);
  /// For a request that is refused in a drain, which should be sent elsewhere at once. One second
  /// protects a lone replica, and eight slots within the next second keep requests that were
  /// refused together from arriving together.
  Duration take_elsewhere();

 private:
  std::int64_t mean_sixteenths_ = -1;  // of a millisecond; below zero: nothing measured
  std::int64_t last_slot_ = 0;         // in sixteenths of a millisecond
  int slot_elsewhere_ = 0;
};

}  // namespace lastcall::lifecycle
