#include "base/json_writer.hpp"

#include "base/json_plain.hpp"
#include "base/utf8.hpp"

namespace lastcall::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void append_escape(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[utf8::byte_of(c) >> 4U];
      out += kHex[utf8::byte_of(c) & 0xFU];
  }
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    char const* const begin = text.data();
    auto const plain = static_cast<std::size_t>(past_plain(begin, begin + text.size()) - begin);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) {
      break;
    }
    std::size_t taken = 1;
    if (utf8::byte_of(text[0]) < 0x80) {
      append_escape(out, text[0]);
    } else if (std::size_t const length = utf8::sequence_length(text)) {
      out.append(text.substr(0, length));
      taken = length;
    } else {
      out += kReplacement;
    }
    text.remove_prefix(taken);
  }
  out += '"';
}

}  // namespace lastcall::json
