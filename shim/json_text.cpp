#include "base/json_escape.hpp"
#include "shim/json.hpp"

namespace lastcall::shim::json {

bool decode_string(std::string_view raw, Text& out) {
  if (raw.size() < 2 || !is_string(raw)) {
    return false;
  }
  lastcall::json::append_unescaped(out, raw.substr(1, raw.size() - 2));
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
