// The bounds of admission, and the load from which on an engine counts as busy. Values only; both
// may change while requests run.
//
// Source: specification, 'Admission'.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/instant.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

/// Urgency of a request as RFC 9218 has it: 0 is the most urgent, a request without one has 3.
inline constexpr std::uint8_t kPriorities = 8;
inline constexpr std::uint8_t kUsualPriority = 3;

struct AdmissionLimits {
  /// Requests that run at once; absent: no limit, nothing waits.
  std::optional<std::uint32_t> running;
  /// Requests that wait for a place, beside those that run.
  std::uint32_t waiting = 16;
  /// Longest wait.
  std::optional<Duration> wait_timeout;
  /// Running requests of which no byte has come yet; absent: not looked at.
  std::optional<std::uint32_t> first_byte;
  /// More urgent requests go first; off: strictly first come, first served.
  bool priorities = false;
  friend bool operator==(AdmissionLimits const&, AdmissionLimits const&) = default;
};

struct LoadThresholds {
  /// Share of the KV cache's blocks in use above which a rank is busy, in millionths: thresholds
  /// compare exactly.
  std::optional<std::uint32_t> decode_ppm;
  /// Tokens in prefill above which a rank is busy.
  std::optional<std::uint64_t> prefill_tokens;
  /// An older report of a rank proves nothing.
  Duration max_age{10'000};
  /// How many ranks the engine has: one that has never reported is free. Absent: as many as have.
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
  std::uint64_t value = 0;  // decode blocks: a share of all, in millionths, as the threshold
  std::uint64_t threshold = 0;
  friend bool operator==(LoadExcess const&, LoadExcess const&) = default;
};

}  // namespace lastcall::lifecycle
