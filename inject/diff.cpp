#include "inject/diff.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

namespace lastcall::inject {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

/// A line of the script: ' ' is kept, '-' is removed, '+' is added.
struct Step {
  char what;
  std::string_view line;
};

/// The furthest reaching paths on the diagonals, with one row for each length of the script.
class Script {
 public:
  Script(Lines const& before, Lines const& after) : before_(before), after_(after) {}

  std::vector<Step> take() {
    std::ptrdiff_t const goal = size(before_) - size(after_);
    for (std::ptrdiff_t length = 0;; ++length) {
      step(length);
      if (reach(rows_.back(), goal) >= size(before_) && std::abs(goal) <= length &&
          (length - goal) % 2 == 0) {
        return walk_back(length);
      }
    }
  }

 private:
  using Row = std::vector<std::ptrdiff_t>;  // from diagonal -length to length

  static std::ptrdiff_t size(Lines const& lines) {
    return static_cast<std::ptrdiff_t>(lines.size());
  }

  static std::ptrdiff_t reach(Row const& row, std::ptrdiff_t diagonal) {
    std::ptrdiff_t const middle = static_cast<std::ptrdiff_t>(row.size()) / 2;
    std::ptrdiff_t const at = diagonal + middle;
    return at < 0 || at >= static_cast<std::ptrdiff_t>(row.size())
               ? -1
               : row[static_cast<std::size_t>(at)];
  }

  bool comes(Row const& last, std::ptrdiff_t length, std::ptrdiff_t diagonal) const {
    return diagonal == -length ||
           (diagonal != length && reach(last, diagonal - 1) < reach(last, diagonal + 1));
  }

  void step(std::ptrdiff_t length) {
    Row row(static_cast<std::size_t>(2 * length + 1), -1);
    Row const last = rows_.empty() ? Row{0} : rows_.back();
    for (std::ptrdiff_t diagonal = -length; diagonal <= length; diagonal += 2) {
      std::ptrdiff_t x = 0;
      if (length > 0) {
        x = comes(last, length, diagonal) ? reach(last, diagonal + 1)
                                          : reach(last, diagonal - 1) + 1;
      }
      while (x >= 0 && x < size(before_) && x - diagonal >= 0 && x - diagonal < size(after_) &&
             before_[static_cast<std::size_t>(x)] ==
                 after_[static_cast<std::size_t>(x - diagonal)]) {
        ++x;
      }
      row[static_cast<std::size_t>(diagonal + length)] = x;
    }
    rows_.push_back(std::move(row));
  }

  std::vector<Step> walk_back(std::ptrdiff_t length) const {
    std::vector<Step> steps;
    std::ptrdiff_t x = size(before_);
    std::ptrdiff_t y = size(after_);
    for (; length >= 0; --length) {
      std::ptrdiff_t const diagonal = x - y;
      bool const is_first = length == 0;
      Row const& last = is_first ? rows_[0] : rows_[static_cast<std::size_t>(length - 1)];
      bool const plus = !is_first && comes(last, length, diagonal);
      std::ptrdiff_t const from = is_first ? 0
                                  : plus   ? reach(last, diagonal + 1)
                                           : reach(last, diagonal - 1) + 1;
      for (; x > from; --x, --y) {
        steps.push_back({' ', before_[static_cast<std::size_t>(x - 1)]});
      }
      if (plus) {
        steps.push_back({'+', after_[static_cast<std::size_t>(--y)]});
      } else if (!is_first) {
        steps.push_back({'-', before_[static_cast<std::size_t>(--x)]});
      }
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  Lines const& before_;
  Lines const& after_;
  std::vector<Row> rows_;
};

std::string text_of(Step const& step) {
  std::string text = step.what + std::string(step.line);
  return text.ends_with('\n') ? text : text + "\n\\ No newline at end of file\n";
}

/// A range of a hunk: "3,7"; an empty range names the line before it.
std::string range(std::size_t first, std::size_t count) {
  return std::to_string(count == 0 ? first : first + 1) +
         (count == 1 ? std::string() : "," + std::to_string(count));
}

constexpr std::size_t kAround = 3;

std::string hunks(std::vector<Step> const& steps) {
  std::string out;
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  for (std::size_t at = 0; at < steps.size();) {
    std::size_t const change = static_cast<std::size_t>(
        std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(at), steps.end(),
                     [](Step const& step) { return step.what != ' '; }) -
        steps.begin());
    if (change == steps.size()) {
      break;
    }
    std::size_t const begin = std::max(at, change - std::min(change, kAround));
    old_line += begin - at;
    new_line += begin - at;
    std::size_t end = change;
    for (std::size_t same = 0; end < steps.size() && same <= 2 * kAround; ++end) {
      same = steps[end].what == ' ' ? same + 1 : 0;
    }
    while (end > change && steps[end - 1].what == ' ') {
      --end;
    }
    end = std::min(end + kAround, steps.size());
    std::string body;
    std::size_t olds = 0;
    std::size_t news = 0;
    for (at = begin; at < end; ++at) {
      body += text_of(steps[at]);
      olds += steps[at].what != '+' ? 1 : 0;
      news += steps[at].what != '-' ? 1 : 0;
    }
    out += "@@ -" + range(old_line, olds) + " +" + range(new_line, news) + " @@\n" + body;
    old_line += olds;
    new_line += news;
  }
  return out;
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view name) {
  if (before == after) {
    return "";
  }
  Lines const old_lines = lines_of(before);
  Lines const new_lines = lines_of(after);
  return "--- " + std::string(name) + "\n+++ " + std::string(name) + "\n" +
         hunks(Script(old_lines, new_lines).take());
}

}  // namespace lastcall::inject
