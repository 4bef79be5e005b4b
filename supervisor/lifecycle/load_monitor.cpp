#include "supervisor/lifecycle/load_monitor.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::lifecycle {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
/// Counts are cut here, so that their products fit.
constexpr std::uint64_t kMostBlocks = 1'000'000'000'000;

}  // namespace

void LoadMonitor::set_thresholds(LoadThresholds const& thresholds) {
  thresholds_ = thresholds;
  judge();
}

bool LoadMonitor::report(Instant now, LoadReported const& report) {
  bool const by_sdk = report.peer.has_value();
  auto const other_kind = [by_sdk](auto const& entry) {
    return entry.second.report.peer.has_value() != by_sdk;
  };
  if (by_sdk) {
    std::erase_if(ranks_, other_kind);
  } else if (std::any_of(ranks_.begin(), ranks_.end(), other_kind)) {
    return true;
  }
  if (ranks_.size() >= kMostRanks && !ranks_.contains(report.rank)) {
    return false;
  }
  ranks_[report.rank] = {report, now};
  judge();
  return true;
}

void LoadMonitor::peer_forgotten(PeerId peer) {
  if (std::erase_if(ranks_,
                    [peer](auto const& entry) { return entry.second.report.peer == peer; }) > 0) {
    judge();
  }
}

bool LoadMonitor::is_above(LoadReported const& report) const {
  auto const& [peer, rank, blocks, total, tokens] = report;
  bool const decode = thresholds_.decode_ppm && blocks && total && *total > 0 &&
                      std::min(*blocks, kMostBlocks) * kMillion >
                          std::min(*total, kMostBlocks) * *thresholds_.decode_ppm;
  bool const prefill =
      thresholds_.prefill_tokens && tokens && *tokens > *thresholds_.prefill_tokens;
  return decode || prefill;
}

void LoadMonitor::judge() {
  busy_until_.reset();
  for (auto const& [number, rank] : ranks_) {
    if (!is_above(rank.report)) {
      busy_until_.reset();
      return;
    }
    // A report of exactly that age still holds.
    busy_until_ = earlier_of(busy_until_, rank.at + thresholds_.max_age + Duration{1});
  }
}

}  // namespace lastcall::lifecycle
