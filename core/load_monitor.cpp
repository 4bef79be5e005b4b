#include "core/load_monitor.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::lifecycle {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
/// Counts are limited to this, so that their products do not overflow.
constexpr std::uint64_t kMostBlocks = 1'000'000'000'000;

bool reports_blocks(LoadReported const& report) {
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
    if (reports_blocks(report)) {
      gauge_.reset();
    }
  }
  judge();
  return true;
}

void LoadMonitor::take_gauge(Instant now, LoadReported const& report) {
  bool const ranks_report = std::any_of(ranks_.begin(), ranks_.end(), [&](auto const& entry) {
    return reports_blocks(entry.second.report) && now < end_of(entry.second);
  });
  if (!ranks_report) {
    gauge_ = {report, now};
  }
}

void LoadMonitor::peer_forgotten(PeerId peer) {
  if (std::erase_if(ranks_,
                    [peer](auto const& entry) { return entry.second.report.peer == peer; }) > 0) {
    judge();
  }
}

std::optional<LoadExcess> LoadMonitor::excess_of(LoadReported const& report) const {
  auto const& [peer, rank, blocks, total, tokens] = report;
  if (thresholds_.decode_ppm && reports_blocks(report)) {
    std::uint64_t const used = std::min(*blocks, kMostBlocks) * kMillion;
    std::uint64_t const all = std::min(*total, kMostBlocks);
    if (used > all * *thresholds_.decode_ppm) {
      return LoadExcess{LoadFigure::active_decode_blocks, rank, used / all,
                        *thresholds_.decode_ppm};
    }
  }
  if (thresholds_.prefill_tokens && tokens && *tokens > *thresholds_.prefill_tokens) {
    return LoadExcess{LoadFigure::active_prefill_tokens, rank, *tokens,
                      *thresholds_.prefill_tokens};
  }
  return std::nullopt;
}

std::optional<LoadExcess> LoadMonitor::excess(Instant now) const {
  if (is_busy_by_ranks(now)) {
    return excess_of(ranks_.begin()->second.report);
  }
  return is_busy(now) ? excess_of(gauge_->report) : std::nullopt;
}

/// A report of exactly that age still holds.
Instant LoadMonitor::end_of(Rank const& rank) const {
  return rank.at + thresholds_.max_age + Duration{1};
}

void LoadMonitor::judge() {
  gauge_until_ = gauge_ && is_above(gauge_->report) ? std::optional(end_of(*gauge_)) : std::nullopt;
  ranks_until_.reset();
  if (ranks_.size() < thresholds_.ranks.value_or(0)) {
    return;
  }
  for (auto const& [number, rank] : ranks_) {
    if (!is_above(rank.report)) {
      ranks_until_.reset();
      return;
    }
    ranks_until_ = earlier_of(ranks_until_, end_of(rank));
  }
}

std::string share_text(std::uint64_t ppm) {
  std::string digits = std::to_string(ppm % 1'000'000);
  digits.insert(0, 6 - digits.size(), '0');
  while (digits.size() > 1 && digits.back() == '0') {
    digits.pop_back();
  }
  return std::to_string(ppm / 1'000'000) + "." + digits;
}

std::string text_of(LoadExcess const& excess) {
  bool const is_share = excess.figure == LoadFigure::active_decode_blocks;
  auto const text = [&](std::uint64_t figure) {
    return is_share ? share_text(figure) : std::to_string(figure);
  };
  return std::string(name(excess.figure)) + " of rank " + std::to_string(excess.rank) + " is " +
         text(excess.value) + ", above " + text(excess.threshold);
}

}  // namespace lastcall::lifecycle
