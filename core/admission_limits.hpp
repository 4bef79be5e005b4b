// The bounds of admission, and the load above which an engine counts as busy. Values only; both may
// change while requests run.
//
// Source: specification, 'Admission'.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/instant.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

/// Urgency of a request as in RFC 9218: 0 is the most urgent, and 3 the default.
inline constexpr std::uint8_t kPriorities = 8;
inline constexpr std::uint8_t kUsualPriority = 3;

struct AdmissionLimits {
  /// Requests that may run at once; if absent, there is no limit and nothing waits.
  std::optional<std::uint32_t> running;
  /// Requests that may wait for a place, in addition to those that run.
  std::uint32_t waiting = 16;
  /// The longest time that a request may wait.
  std::optional<Duration> wait_timeout;
  /// Running requests that may be without their first byte; if absent, there is no limit.
  std::optional<std::uint32_t> first_byte;
  /// Whether more urgent requests go first; otherwise the order is first come, first served.
  bool priorities = false;
  friend bool operator==(AdmissionLimits const&, AdmissionLimits const&) = default;
};

inline constexpr double kMillionths = 1'000'000;
/// The millionths that are nearest to a share from 0 to 1.
inline std::uint32_t millionths(double share) {
  return static_cast<std::uint32_t>(std::lround(share * kMillionths));
}

struct LoadThresholds {
  /// The share of the KV cache's blocks in use above which a rank is busy. It is in millionths, so
  /// that thresholds compare exactly.
  std::optional<std::uint32_t> decode_ppm;
  /// Tokens in prefill above which a rank is busy.
  std::optional<std::uint64_t> prefill_tokens;
  /// A rank's report that is older than this proves nothing.
  Duration max_age{10'000};
  /// The number of the engine's ranks; a rank that has never reported is free. If absent, only the
  /// ranks that have reported count.
  std::optional<std::uint32_t> ranks;
  friend bool operator==(LoadThresholds const&, LoadThresholds const&) = default;
};

enum class LoadFigure : std::uint8_t { active_decode_blocks, active_prefill_tokens };

template <>
inline constexpr std::array<std::string_view, 2> vocabulary::kWordsOf<LoadFigure>{
    "active_decode_blocks", "active_prefill_tokens"};

/// A figure of a rank that is above its threshold.
struct LoadExcess {
  LoadFigure figure = LoadFigure::active_decode_blocks;
  std::uint32_t rank = 0;
  std::uint64_t value = 0;  // for decode blocks a share of all in millionths, like the threshold
  std::uint64_t threshold = 0;
  friend bool operator==(LoadExcess const&, LoadExcess const&) = default;
};

}  // namespace lastcall::lifecycle
