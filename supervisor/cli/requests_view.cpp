#include "supervisor/cli/requests_view.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/utf8.hpp"
#include "telemetry/rows.hpp"

namespace lastcall::cli {
namespace {

enum class Column : std::uint8_t { id, client, endpoint, model, state, tokens, bytes, age };
constexpr std::size_t kColumns = 8;
constexpr std::array<char const*, kColumns> kHeadings{"ID",    "CLIENT", "ENDPOINT", "MODEL",
                                                      "STATE", "TOKENS", "BYTES",    "AGE"};
/// The columns that are left out, in this order, if there is not enough room.
constexpr std::array<Column, 5> kDispensable{Column::model, Column::endpoint, Column::tokens,
                                             Column::client, Column::bytes};
constexpr std::size_t kNarrowestId = 8;

using Cells = std::array<std::string, kColumns>;

std::string count_text(JsonValue const& request, char const* key) {
  return request.contains(key) ? std::to_string(member_number(request, key)) : "-";
}

/// The tokens that the engine reported; without a report, the number of events in the stream is an
/// estimate.
std::string tokens_text(JsonValue const& request) {
  std::string const tokens = count_text(request, "tokens");
  std::string const events = tokens == "-" ? count_text(request, "events_sent") : "-";
  return events == "-" ? tokens : "~" + events;
}

std::string state_text(JsonValue const& request) {
  std::string state = member_text(request, "state");
  if (member_flag(request, "waiting")) {
    state += ", waits";
  }
  if (std::string const reason = member_text(request, "reason"); !reason.empty()) {
    state += " (" + reason + ")";
  }
  if (member_flag(request, "late")) {
    state += ", late";
  }
  return state;
}

Cells cells_of(JsonValue const& request, std::size_t depth) {
  auto const named = [&request](char const* key) {
    std::string text = member_text(request, key);
    return text.empty() ? std::string("-") : text;
  };
  return {std::string(2 * depth, ' ') + member_text(request, "id"),
          named("client"),
          named("endpoint"),
          named("model"),
          state_text(request),
          tokens_text(request),
          count_text(request, "bytes_sent"),
          telemetry::duration_text(member_number(request, "age_ms"))};
}

/// The requests in display order, each with its depth.
class Family {
 public:
  explicit Family(std::vector<JsonValue> const& requests) : requests_(requests) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (member_flag(requests[i], "child")) {
        children_.emplace(member_text(requests[i], "parent"), i);
      } else {
        users_.push_back(i);
      }
    }
    std::stable_sort(users_.begin(), users_.end(), [&](std::size_t a, std::size_t b) {
      return member_number(requests[a], "age_ms") > member_number(requests[b], "age_ms");
    });
  }

  std::vector<std::pair<std::size_t, std::size_t>> order() {
    std::vector<std::pair<std::size_t, std::size_t>> shown;
    for (std::size_t const user : users_) {
      std::vector<std::pair<std::size_t, std::size_t>> left{{user, 0}};
      while (!left.empty()) {
        auto const [request, depth] = left.back();
        left.pop_back();
        shown.emplace_back(request, depth);
        take_children(request, depth, left);
      }
    }
    for (auto const& [parent, orphan] : children_) {
      shown.emplace_back(orphan, 0);  // its parent ended between two pages
    }
    return shown;
  }

 private:
  /// Takes each child once: the engine's part of a relayed request has the id of its parent.
  void take_children(std::size_t request, std::size_t depth,
                     std::vector<std::pair<std::size_t, std::size_t>>& left) {
    auto const [first, last] = children_.equal_range(member_text(requests_[request], "id"));
    std::size_t const before = left.size();
    for (auto child = first; child != last; ++child) {
      left.emplace_back(child->second, depth + 1);
    }
    std::reverse(left.begin() + static_cast<std::ptrdiff_t>(before), left.end());
    children_.erase(first, last);
  }

  std::vector<JsonValue> const& requests_;
  std::vector<std::size_t> users_;
  std::multimap<std::string, std::size_t> children_;  // by the id of their parent
};

class Table {
 public:
  void add(Cells cells) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      widths_[i] = std::max(widths_[i], telemetry::width_of(cells[i]));
    }
    rows_.push_back(std::move(cells));
  }

  void fit(std::size_t columns) {
    for (Column const column : kDispensable) {
      if (width() > columns) {
        widths_[static_cast<std::size_t>(column)] = 0;
      }
    }
    if (width() > columns) {
      widths_[0] -= std::min(width() - columns, widths_[0] - std::min(widths_[0], kNarrowestId));
    }
  }

  std::string text() const {
    std::string out;
    for (Cells const& cells : rows_) {
      std::string line;
      for (std::size_t i = 0; i < kColumns; ++i) {
        if (widths_[i] > 0) {
          std::string const cell = cut(cells[i], widths_[i]);
          line += cell + std::string(widths_[i] - telemetry::width_of(cell) + kGap, ' ');
        }
      }
      out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return out;
  }

 private:
  static constexpr std::size_t kGap = 2;

  std::size_t width() const {
    std::size_t sum = 0;
    for (std::size_t const each : widths_) {
      sum += each > 0 ? each + kGap : 0;
    }
    return sum - kGap;
  }

  /// Cuts the cell and ends it with two dots. An id is visible text; it is cut between characters,
  /// which may have several bytes.
  static std::string cut(std::string const& cell, std::size_t width) {
    if (telemetry::width_of(cell) <= width) {
      return cell;
    }
    std::size_t end = 0;
    for (std::size_t shown = 0; end < cell.size(); ++end) {
      if (!utf8::is_continuation(cell[end]) && shown++ == width - 2) {
        break;
      }
    }
    return cell.substr(0, end) + "..";
  }

  std::vector<Cells> rows_;
  std::array<std::size_t, kColumns> widths_{};
};

}  // namespace

std::string requests_text(std::vector<JsonValue> const& requests, std::size_t columns) {
  Table table;
  Cells headings;
  std::copy(kHeadings.begin(), kHeadings.end(), headings.begin());
  table.add(std::move(headings));
  for (auto const& [request, depth] : Family(requests).order()) {
    table.add(cells_of(requests[request], depth));
  }
  if (columns > 0) {
    table.fit(columns);
  }
  return table.text();
}

}  // namespace lastcall::cli
