// Whether the engine is busy: by what its data-parallel ranks say of their load.
//
// Invariants:
//  1. A rank is busy when it is above either threshold, strictly; a figure that it does not tell
//     is never above one, nor is a share of no blocks.
//  2. The engine is busy only while all ranks are that have told of themselves: one that is silent
//     for longer than the limit on a report's age is free. Nothing told: not busy.
//  3. What SDKs tell outranks the engine's own gauges: those are not the same ranks.
//
// Owned by the core's thread. Source: busy detection of the rejection specification; the age limit
// is ours, because without one a quiet worker stays busy for ever.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "supervisor/lifecycle/admission_limits.hpp"
#include "supervisor/lifecycle/event.hpp"

namespace lastcall::lifecycle {

/// No engine has more; what a peer makes up beyond is not kept.
inline constexpr std::size_t kMostRanks = 1'024;

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
  /// False: more ranks than any engine has.
  bool report(Instant now, LoadReported const& report);
  /// Its ranks are not there any more.
  void peer_forgotten(PeerId peer);

  /// O(1): the reports have said until when.
  bool is_busy(Instant now) const { return busy_until_ && now < *busy_until_; }
  /// When it ends by itself, nothing being told meanwhile.
  std::optional<Instant> busy_until() const { return busy_until_; }
  std::map<std::uint32_t, Rank> const& ranks() const { return ranks_; }
  bool is_above(LoadReported const& report) const;

 private:
  void judge();

  LoadThresholds thresholds_;
  std::map<std::uint32_t, Rank> ranks_;
  std::optional<Instant> busy_until_;
};

}  // namespace lastcall::lifecycle
