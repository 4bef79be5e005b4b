#include "config/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lastcall::config {
namespace {

constexpr std::size_t kLongestWord = 64;

std::size_t distance(std::string_view a, std::string_view b) {
  // Three rows of the edit matrix; before_last is needed for swaps.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::vector<std::string_view> const& known) {
  if (word.size() > kLongestWord) {
    return std::nullopt;
  }
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (std::string_view const candidate : known) {
    std::size_t const steps = distance(word, candidate);
    bool const is_near = steps <= std::max<std::size_t>(1, candidate.size() / 3);
    if (is_near && (!best || steps < best_distance)) {
      best = candidate;
      best_distance = steps;
    }
  }
  return best;
}

}  // namespace lastcall::config
