#include "config/problem.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace lastcall::config {
namespace {

constexpr std::size_t kLongestKey = 200;

/// Quoted YAML can hold any character, including those that control terminals.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }, '?');
  return text;
}

}  // namespace

std::string to_text(Problem const& problem) {
  std::string text = problem.place.source;
  if (problem.place.line > 0) {
    text += ":" + std::to_string(problem.place.line) + ":" + std::to_string(problem.place.column);
  }
  if (!text.empty()) {
    text += ": ";
  }
  if (!problem.key.empty()) {
    bool const is_long = problem.key.size() > kLongestKey;
    text += problem.key.substr(0, kLongestKey) + (is_long ? "..." : "") + ": ";
  }
  return printable(text + problem.text);
}

void sort_by_place(Problems& problems) {
  std::unordered_map<std::string, std::size_t> order;
  for (Problem const& problem : problems) {
    order.emplace(problem.place.source, order.size());
  }
  auto const position = [&](Problem const& p) {
    return std::tuple(order.at(p.place.source), p.place.line, p.place.column);
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](Problem const& a, Problem const& b) { return position(a) < position(b); });
}

}  // namespace lastcall::config
