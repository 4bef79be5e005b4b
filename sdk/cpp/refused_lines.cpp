#include "sdk/cpp/refused_lines.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::sdk {

void RefusedLines::add(ipc::ErrorCode code, std::string text, Clock::time_point now) {
  auto const [place, is_first] = rows_.try_emplace(code, Row{.until = now + kCountFor});
  if (is_first) {
    log_("the supervisor refused a line: " + text);
  } else {
    ++place->second.more;
    place->second.last = std::move(text);
  }
}

std::optional<Clock::time_point> RefusedLines::tick(Clock::time_point now, Later& later) {
  std::optional<Clock::time_point> next;
  for (auto row = rows_.begin(); row != rows_.end();) {
    if (row->second.until <= now) {
      report(std::move(row->second), later);
      row = rows_.erase(row);
    } else {
      next = next ? std::min(*next, row->second.until) : row->second.until;
      ++row;
    }
  }
  return next;
}

void RefusedLines::lost(Later& later) {
  for (auto& [code, row] : rows_) {
    report(std::move(row), later);
  }
  rows_.clear();
}

void RefusedLines::report(Row&& row, Later& later) const {
  if (row.more > 0) {
    later.push_back([&log = log_, row = std::move(row)] {
      log("the supervisor refused " + std::to_string(row.more) + " more; the last: " + row.last);
    });
  }
}

}  // namespace lastcall::sdk
