#include "shim/json.hpp"
#include "shim/parse.hpp"

namespace lastcall::shim::json {
namespace {

/// The digit was checked when the line was checked.
std::uint32_t hex_value(char c) {
  return static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

void append_utf8(Text& out, std::uint32_t point) {
  auto const byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (point < 0x80) {
    char const one[] = {byte(point)};
    out << std::string_view(one, 1);
  } else if (point < 0x800) {
    char const two[] = {byte(0xC0 | point >> 6), byte(0x80 | (point & 0x3F))};
    out << std::string_view(two, 2);
  } else if (point < 0x10000) {
    char const three[] = {byte(0xE0 | point >> 12), byte(0x80 | (point >> 6 & 0x3F)),
                          byte(0x80 | (point & 0x3F))};
    out << std::string_view(three, 3);
  } else {
    char const four[] = {byte(0xF0 | point >> 18), byte(0x80 | (point >> 12 & 0x3F)),
                         byte(0x80 | (point >> 6 & 0x3F)), byte(0x80 | (point & 0x3F))};
    out << std::string_view(four, 4);
  }
}

std::uint32_t hex_quad(std::string_view digits) {
  std::uint32_t value = 0;
  for (char const c : digits.substr(0, 4)) {
    value = value << 4 | hex_value(c);
  }
  return value;
}

/// `rest` begins after the backslash of a valid escape. Returns how many of its bytes were used.
std::size_t decode_escape(std::string_view rest, Text& out) {
  constexpr std::string_view kShort = "\"\\/bfnrt";
  constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
  if (rest[0] != 'u') {
    out << kMeaning.substr(kShort.find(rest[0]), 1);
    return 1;
  }
  std::uint32_t const unit = hex_quad(rest.substr(1));
  bool const pair_follows = unit >= 0xD800 && unit < 0xDC00 && rest.substr(5).starts_with("\\u");
  std::uint32_t const low = pair_follows ? hex_quad(rest.substr(7)) : 0;
  if (low >= 0xDC00 && low < 0xE000) {
    append_utf8(out, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
    return 11;
  }
  append_utf8(out, unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : unit);
  return 5;
}

}  // namespace

std::optional<std::int64_t> integer(std::string_view raw) {
  return parse_unsigned(raw);
}

bool decode_string(std::string_view raw, Text& out) {
  if (raw.size() < 2 || !is_string(raw)) {
    return false;
  }
  raw = raw.substr(1, raw.size() - 2);
  while (!raw.empty()) {
    std::size_t const plain = raw.find('\\');
    out << raw.substr(0, plain);
    if (plain == std::string_view::npos) {
      break;
    }
    raw.remove_prefix(plain + 1);
    raw.remove_prefix(decode_escape(raw, out));
  }
  return !out.overflowed();
}

Writer& Writer::begin(std::string_view key, char bracket) {
  name(key);
  out_ << std::string_view(&bracket, 1);
  first_ = true;
  return *this;
}

Writer& Writer::close() {
  out_ << "}";
  first_ = false;
  return *this;
}

Writer& Writer::close_array() {
  out_ << "]";
  first_ = false;
  return *this;
}

void Writer::name(std::string_view key) {
  if (!first_) {
    out_ << ",";
  }
  first_ = false;
  if (!key.empty()) {
    out_ << "\"" << key << "\":";
  }
}

Writer& Writer::number(std::string_view key, std::int64_t value) {
  name(key);
  out_ << value;
  return *this;
}

Writer& Writer::boolean(std::string_view key, bool value) {
  return raw(key, value ? "true" : "false");
}

Writer& Writer::raw(std::string_view key, std::string_view value) {
  name(key);
  out_ << value;
  return *this;
}

Writer& Writer::members(std::string_view object) {
  std::size_t const begin = object.find('{') + 1;
  std::string_view const inner = object.substr(begin, object.rfind('}') - begin);
  if (inner.find('"') != std::string_view::npos) {
    out_ << (first_ ? "" : ",") << inner;
    first_ = false;
  }
  return *this;
}

Writer& Writer::string(std::string_view key, std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  name(key);
  out_ << "\"";
  for (char const& c : value) {
    auto const byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_ << "\\" << std::string_view(&c, 1);
    } else if (byte < 0x20 || byte >= 0x7F) {
      // Names of files need not be UTF-8; each byte that is not is written as its Latin-1
      // character.
      out_ << "\\u00" << kHex.substr(byte >> 4, 1) << kHex.substr(byte & 15, 1);
    } else {
      out_ << std::string_view(&c, 1);
    }
  }
  out_ << "\"";
  return *this;
}

}  // namespace lastcall::shim::json
