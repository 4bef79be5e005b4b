// Decides whether the engine is busy, by the load that its data-parallel ranks report.
//
// Invariants:
//  1. A rank is busy when it is above either threshold, strictly; a figure that it does not report
//     is never above one, nor is a share of no blocks.
//  2. The engine is busy only while all its ranks are. A rank is free if its last report is older
//     than the limit, or if the number of ranks is configured and this rank has never reported.
//     Without any report the engine is not busy.
//  3. The engine's own gauges show the rank that has the most room, so they stand for all ranks.
//     They do not count while an SDK has recently reported blocks of its own, because such reports
//     are more exact.
//  4. The reason shows whether ranks reported it themselves, or only gauges: an engine that runs
//     nothing may leave its gauges where they stood.
//
// Owned by the core's thread. Source: specification, 'Admission'; the age limit
// is ours, because without one a quiet worker stays busy for ever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/admission_limits.hpp"
#include "core/event.hpp"

namespace lastcall::lifecycle {

/// No engine has more ranks; reports about others are dropped.
inline constexpr std::size_t kMostRanks = 1'024;

/// Millionths as a decimal: 0.85.
std::string share_text(std::uint64_t ppm);
/// 'active_decode_blocks of rank 0 is 0.91, above 0.85'.
std::string text_of(LoadExcess const& excess);

class LoadMonitor {
 public:
  struct Rank {
    LoadReported report;
    Instant at;
  };

  LoadMonitor() = default;
  explicit LoadMonitor(LoadThresholds const& thresholds) : thresholds_(thresholds) {}

  void set_thresholds(LoadThresholds const& thresholds);
  LoadThresholds const& thresholds() const { return thresholds_; }
  /// Returns false for a rank that no engine can have.
  bool report(Instant now, LoadReported const& report);
  /// The peer is gone for good, and its ranks with it.
  void peer_forgotten(PeerId peer);

  /// This is O(1), because each report determines until when the answer holds.
  bool is_busy(Instant now) const { return is_busy_by_ranks(now) || holds(gauge_until_, now); }
  /// Whether it is busy not by the gauges alone.
  bool is_busy_by_ranks(Instant now) const { return holds(ranks_until_, now); }
  /// The time at which this ends without a further report.
  std::optional<Instant> busy_until() const { return std::max(ranks_until_, gauge_until_); }
  std::map<std::uint32_t, Rank> const& ranks() const { return ranks_; }
  bool is_above(LoadReported const& report) const { return excess_of(report).has_value(); }
  /// The figure that makes it busy now, of the rank with the lowest number or of the gauges.
  std::optional<LoadExcess> excess(Instant now) const;
  /// The last reading of the engine's own gauges.
  std::optional<Rank> const& gauge() const { return gauge_; }

 private:
  std::optional<LoadExcess> excess_of(LoadReported const& report) const;
  static bool holds(std::optional<Instant> until, Instant now) { return until && now < *until; }
  void take_gauge(Instant now, LoadReported const& report);
  Instant end_of(Rank const& rank) const;
  void judge();

  LoadThresholds thresholds_;
  std::map<std::uint32_t, Rank> ranks_;
  std::optional<Rank> gauge_;
  std::optional<Instant> ranks_until_;  // until when the ranks' reports make the engine busy
  std::optional<Instant> gauge_until_;
};

}  // namespace lastcall::lifecycle
