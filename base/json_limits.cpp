#include "base/json_limits.hpp"

#include <vector>

namespace lastcall::json {
namespace {

/// The position of the string's closing quote; the end of the text or beyond if there is none.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return at;
}

struct Open {
  bool is_object;
  std::size_t members;
};

}  // namespace

bool fits(std::string_view text, Limits const& limits) {
  std::vector<Open> open;
  std::size_t values = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char const c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
    } else if (c == '{' || c == '[') {
      open.push_back({c == '{', 1});
      ++values;
    } else if (c == '}' || c == ']') {
      if (!open.empty()) {
        open.pop_back();
      }
    } else if (c == ',') {
      ++values;
      if (!open.empty()) {
        ++open.back().members;
      }
    } else {
      continue;
    }
    bool const is_wide =
        !open.empty() && open.back().is_object && open.back().members > limits.members;
    if (is_wide || open.size() > limits.depth || values > limits.values) {
      return false;
    }
  }
  return true;
}

}  // namespace lastcall::json
