#include "core/check_board.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace lastcall::lifecycle {
namespace {

/// The time since which the check is silent; it counts from the last progress if that was later.
std::optional<Instant> unmoved_since(CheckBoard::Row const& row,
                                     std::optional<Instant> progress_at) {
  return row.slow_since && progress_at ? std::max(*row.slow_since, *progress_at) : row.slow_since;
}

}  // namespace

std::optional<std::string> CheckBoard::finished(Instant now, CheckFinished const& result,
                                                bool was_up) {
  LC_ASSERT(result.check < rows_.size());
  Row& row = rows_[result.check];
  row.seen = true;
  row.last = result.verdict;
  row.detail = result.detail;
  switch (result.verdict) {
    case CheckVerdict::passed:
    case CheckVerdict::busy:
      row.passes = true;
      row.failures = 0;
      row.slow_since.reset();
      row.unanswered_since.reset();
      answered_at_ = now;
      break;
    case CheckVerdict::failed:
      row.passes = was_up;
      if (was_up && ++row.failures >= checks_[result.check].failure_threshold) {
        auto const [name, because] = finding(result.check);
        return "check '" + name + "' failed " + std::to_string(row.failures) + " times in a row" +
               because;
      }
      break;
    case CheckVerdict::timed_out:
      row.passes = was_up;
      if (was_up && !row.slow_since) {
        row.slow_since = now;
        row.unanswered_since = now - result.took;
      }
      break;
    case CheckVerdict::not_asked:
      row.slow_since.reset();
      row.unanswered_since.reset();
      break;
  }
  return std::nullopt;
}

void CheckBoard::thresholds_changed(std::vector<std::uint32_t> const& thresholds) {
  LC_ASSERT(thresholds.size() == checks_.size());
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    checks_[i].failure_threshold = thresholds[i];
  }
}

void CheckBoard::restart_silence(Instant now) {
  for (Row& row : rows_) {
    if (row.slow_since) {
      row.slow_since = row.unanswered_since = now;
    }
  }
}

bool CheckBoard::all_pass() const {
  return std::all_of(rows_.begin(), rows_.end(), [](Row const& row) { return row.passes; });
}

std::optional<Instant> CheckBoard::unanswered_since() const {
  std::optional<Instant> since;
  for (Row const& row : rows_) {
    since = earlier_of(since, row.unanswered_since);
  }
  return since;
}

std::optional<Instant> CheckBoard::silent_until(Duration limit,
                                                std::optional<Instant> progress_at) const {
  std::optional<Instant> since;
  for (Row const& row : rows_) {
    since = earlier_of(since, unmoved_since(row, progress_at));
  }
  return since ? std::optional(*since + limit) : std::nullopt;
}

std::optional<CheckBoard::Finding> CheckBoard::unanswered() const {
  auto const row = std::find_if(rows_.begin(), rows_.end(),
                                [](Row const& r) { return r.unanswered_since.has_value(); });
  return row == rows_.end() ? std::nullopt
                            : std::optional(finding(static_cast<std::size_t>(row - rows_.begin())));
}

std::optional<CheckBoard::Finding> CheckBoard::silent(Instant now, Duration limit,
                                                      std::optional<Instant> progress_at) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (auto const since = unmoved_since(rows_[i], progress_at); since && now >= *since + limit) {
      return finding(i);
    }
  }
  return std::nullopt;
}

std::optional<std::string> CheckBoard::busy_text() const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].seen && rows_[i].last == CheckVerdict::busy) {
      return "check '" + checks_[i].name + "' reports busy";
    }
    if (rows_[i].seen && rows_[i].last == CheckVerdict::not_asked) {
      return "check '" + checks_[i].name + "' could not be run" + finding(i).because;
    }
    if (rows_[i].slow_since) {
      return "check '" + checks_[i].name + "' is slow" + finding(i).because;
    }
  }
  return std::nullopt;
}

std::optional<std::string> CheckBoard::failing_text() const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].failures > 0) {
      auto const [name, because] = finding(i);
      return "check '" + name + "' failed " + std::to_string(rows_[i].failures) + " of " +
             std::to_string(checks_[i].failure_threshold) + " times" + because;
    }
  }
  return std::nullopt;
}

void CheckBoard::fingerprint(Mixer& m) const {
  for (Row const& row : rows_) {
    m.all(row.passes, row.failures, row.slow_since ? m.now - *row.slow_since : Duration{-1},
          row.last, row.seen, row.unanswered_since ? m.now - *row.unanswered_since : Duration{-1});
  }
}

CheckBoard::Finding CheckBoard::finding(std::size_t index) const {
  std::string const& detail = rows_[index].detail;
  return {checks_[index].name, detail.empty() ? "" : ": " + detail};
}

}  // namespace lastcall::lifecycle
