#include "core/retry_slots.hpp"

#include <algorithm>

namespace lastcall::lifecycle {
namespace {

constexpr std::int64_t kFraction = 16;  // the mean is kept in these parts of a millisecond
constexpr std::int64_t kWeight = 8;     // the newest sample weighs one part in this many
/// A longer service counts as this long, so that one forgotten request does not outweigh the
/// others.
constexpr Duration kLongestService{3'600'000};

}  // namespace

void RetrySlots::held_for(Duration time) {
  std::int64_t const sample = to_ms(std::min(time, kLongestService)) * kFraction;
  mean_sixteenths_ =
      mean_sixteenths_ < 0 ? sample : mean_sixteenths_ + (sample - mean_sixteenths_) / kWeight;
}

Duration RetrySlots::retry_after(std::size_t waiting, std::size_t places) const {
  if (mean_sixteenths_ < 0) {
    return kRetryDefault;
  }
  auto const before = static_cast<std::int64_t>(waiting) + 1;
  std::int64_t const divisor = static_cast<std::int64_t>(places) * kFraction;
  return std::clamp(Duration{(mean_sixteenths_ * before + divisor - 1) / divisor}, kRetryLeast,
                    kRetryMost);
}

Duration RetrySlots::take(Instant now, std::size_t waiting, std::size_t places) {
  std::int64_t const mean =
      mean_sixteenths_ < 0 ? to_ms(kRetryDefault) * kFraction : mean_sixteenths_;
  std::int64_t const at = to_ms(now) * kFraction;
  std::int64_t const first = at + to_ms(retry_after(waiting, places)) * kFraction;
  std::int64_t const slot = std::max<std::int64_t>(mean / static_cast<std::int64_t>(places), 1);
  last_slot_ = std::max(first, last_slot_ + slot);
  if (last_slot_ > at + to_ms(kRetryMost) * kFraction) {
    last_slot_ = std::min(first, at + to_ms(kRetryMost) * kFraction / 2);
  }
  return std::min(Duration{(last_slot_ - at + kFraction - 1) / kFraction}, kRetryMost);
}

Duration RetrySlots::take_elsewhere() {
  constexpr Duration kFirst{1'000};
  constexpr int kSlots = 8;
  constexpr Duration kSlot{125};
  return kFirst + kSlot * (slot_elsewhere_++ % kSlots);
}

}  // namespace lastcall::lifecycle
