#include "base/visible_text.hpp"

#include <array>
#include <cstddef>
#include <cstdio>

namespace lastcall {
namespace {

struct Control {
  std::size_t bytes = 0;  // 0: no control character begins here
  unsigned code_point = 0;
};

Control control_at(std::string_view text, std::size_t at) {
  auto const byte = static_cast<unsigned char>(text[at]);
  if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
    return {1, byte};
  }
  if (byte == 0xc2 && at + 1 < text.size()) {  // U+0080 to U+00BF
    auto const next = static_cast<unsigned char>(text[at + 1]);
    if (next >= 0x80 && next < 0xa0) {
      return {2, next};
    }
  }
  return {};
}

std::size_t first_control(std::string_view text, std::size_t from) {
  while (from < text.size() && control_at(text, from).bytes == 0) {
    ++from;
  }
  return from;
}

}  // namespace

bool is_visible(std::string_view text) {
  return first_control(text, 0) == text.size();
}

void append_visible(std::string& out, std::string_view text) {
  std::size_t from = 0;
  while (from < text.size()) {
    std::size_t const end = first_control(text, from);
    out += text.substr(from, end - from);
    if (end == text.size()) {
      return;
    }
    Control const control = control_at(text, end);
    std::array<char, sizeof "\\u0000"> escape;
    std::snprintf(escape.data(), escape.size(), "\\u%04x", control.code_point);
    out += escape.data();
    from = end + control.bytes;
  }
}

std::string visible(std::string_view text) {
  std::string out;
  append_visible(out, text);
  return out;
}

}  // namespace lastcall
