#include "supervisor/lifecycle/load_monitor.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::lifecycle {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
/// Counts are cut here, so that their products fit.
constexpr std::uint64_t kMostBlocks = 1'000'000'000'000;

bool tells_blocks(LoadReported const& report) {
  return report.active_decode_blocks && report.kv_total_blocks.value_or(0) > 0;
}

}  // namespace

void LoadMonitor::set_thresholds(LoadThresholds const& thresholds) {
  thresholds_ = thresholds;
  judge();
}

bool LoadMonitor::report(Instant now, LoadReported const& report) {
  if (!report.peer) {
    take_gauge(now, report);
  } else if (ranks_.size() >= kMostRanks && !ranks_.contains(report.rank)) {
    return false;
  } else {
    ranks_[report.rank] = {report, now};
    if (tells_blocks(report)) {
      gauge_.reset();
    }
  }
  judge();
  return true;
}

void LoadMonitor::take_gauge(Instant now, LoadReported const& report) {
  bool const ranks_say = std::any_of(ranks_.begin(), ranks_.end(), [&](auto const& entry) {
    return tells_blocks(entry.second.report) && now < end_of(entry.second);
  });
  if (!ranks_say) {
    gauge_ = {report, now};
  }
}

void LoadMonitor::peer_forgotten(PeerId peer) {
  if (std::erase_if(ranks_,
                    [peer](auto const& entry) { return entry.second.report.peer == peer; }) > 0) {
    judge();
  }
}

bool LoadMonitor::is_above(LoadReported const& report) const {
  auto const& [peer, rank, blocks, total, tokens] = report;
  bool const decode = thresholds_.decode_ppm && tells_blocks(report) &&
                      std::min(*blocks, kMostBlocks) * kMillion >
                          std::min(*total, kMostBlocks) * *thresholds_.decode_ppm;
  bool const prefill =
      thresholds_.prefill_tokens && tokens && *tokens > *thresholds_.prefill_tokens;
  return decode || prefill;
}

/// A report of exactly that age still holds.
Instant LoadMonitor::end_of(Rank const& rank) const {
  return rank.at + thresholds_.max_age + Duration{1};
}

void LoadMonitor::judge() {
  gauge_until_ = gauge_ && is_above(gauge_->report) ? std::optional(end_of(*gauge_)) : std::nullopt;
  ranks_until_.reset();
  for (auto const& [number, rank] : ranks_) {
    if (!is_above(rank.report)) {
      ranks_until_.reset();
      return;
    }
    ranks_until_ = earlier_of(ranks_until_, end_of(rank));
  }
}

}  // namespace lastcall::lifecycle
