// Just enough JSON for the wire: check a line, pick members out of it, write one.
//
// Rules: 1. a line is a whole, valid JSON object in UTF-8 or nothing of it is used; 2. values are
// handed out as their raw bytes, so that what is opaque (the blob, the report) goes back byte for
// byte; 3. of a repeated key the last one counts; 4. nesting deeper than 32 is refused, so that no
// input can grow the stack. No allocation. Source: RFC 8259.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shim/text.hpp"

namespace lastcall::shim::json {

/// The whole text is one valid object.
bool is_object(std::string_view text);

/// Raw value of a member of a text for which is_object() holds.
std::optional<std::string_view> member(std::string_view object, std::string_view key);

constexpr bool is_string(std::string_view raw) {
  return raw.starts_with('"');
}

/// Decodes a raw string value; false when it is none, or is longer than `out` can take.
bool decode_string(std::string_view raw, Text& out);

/// Whole, not negative, at most 2^53.
std::optional<std::int64_t> integer(std::string_view raw);

/// Writes an object member by member; the maker of the Text asks it whether all fitted.
class Writer {
 public:
  explicit Writer(Text& out) : out_(out) {}

  Writer& open() { return begin("", '{'); }
  Writer& open(std::string_view key) { return begin(key, '{'); }
  Writer& close();
  /// An array of its own; its members have empty keys.
  Writer& open_array() { return begin("", '['); }
  Writer& close_array();
  Writer& string(std::string_view key, std::string_view value);
  Writer& number(std::string_view key, std::int64_t value);
  Writer& boolean(std::string_view key, bool value);
  Writer& raw(std::string_view key, std::string_view value);
  /// Every member of another object, for which is_object() holds.
  Writer& members(std::string_view object);

 private:
  Writer& begin(std::string_view key, char bracket);
  void name(std::string_view key);

  Text& out_;
  bool first_ = true;
};

}  // namespace lastcall::shim::json
