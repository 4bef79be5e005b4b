// Counts users' requests that ended with an error of the engine in the last seconds.
//
// Rules:
//  1. An engine that dies in parts answers with errors before it is known to be dead, so the report
//     of the stop that follows counts these requests, too.
//  2. It only feeds the report: no decision depends on it, and a restarted supervisor begins from
//     zero.
//  3. Its precision is one slot; its size is fixed, whatever the rate.
//
// Values only, owned by the core's thread. Source: specification, 'Drain report'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

class RecentErrors {
 public:
  /// The longest time for which an error may be held until the engine's death is confirmed.
  static constexpr Duration kWindow{2'000};

  void ended(Instant now) {
    Slot& slot = slots_[index_of(now)];
    slot = slot.number == number_of(now) ? slot : Slot{.number = number_of(now)};
    ++slot.count;
  }

  /// The number of errors in the window that ends now.
  std::uint64_t count(Instant now) const {
    std::uint64_t sum = 0;
    for (Slot const& slot : slots_) {
      bool const is_recent = slot.number + kSlots > number_of(now) && slot.number <= number_of(now);
      sum += is_recent ? slot.count : 0;
    }
    return sum;
  }

 private:
  static constexpr Duration kSlot{100};
  /// One more than the window has, because the first and the last slot are partial.
  static constexpr std::int64_t kSlots = kWindow / kSlot + 1;
  struct Slot {
    std::int64_t number = 0;  // since the clock's zero
    std::uint64_t count = 0;
  };

  static std::int64_t number_of(Instant at) { return to_ms(at) / kSlot.count(); }
  static std::size_t index_of(Instant at) {
    return static_cast<std::size_t>(number_of(at) % kSlots);
  }

  std::array<Slot, static_cast<std::size_t>(kSlots)> slots_{};
};

}  // namespace lastcall::lifecycle
