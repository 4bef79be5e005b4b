// The JSON that the wire needs: it checks a line, finds members in it, and writes a line.
//
// Rules: 1. a line is used only if it is a complete, valid JSON object in UTF-8; 2. values are
// returned as their raw bytes, so that opaque values (the blob, the report) are sent back byte for
// byte; 3. if a key is repeated, the last one counts; 4. nesting deeper than 32 is refused, so that
// no input can grow the stack. No allocation. Source: RFC 8259.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shim/text.hpp"

namespace lastcall::shim::json {

/// Whether the whole text is one valid object.
bool is_object(std::string_view text);

/// The raw value of a member of a text for which is_object() holds.
std::optional<std::string_view> member(std::string_view object, std::string_view key);

constexpr bool is_string(std::string_view raw) {
  return raw.starts_with('"');
}

/// Decodes a raw value that member() returned; false if it is not a string or does not fit.
bool decode_string(std::string_view raw, Text& out);

/// Writes an object member by member; the owner of the Text checks whether everything fitted into
/// it.
class Writer {
 public:
  explicit Writer(Text& out) : out_(out) {}

  Writer& open() { return begin("", '{'); }
  Writer& open(std::string_view key) { return begin(key, '{'); }
  Writer& close();
  /// Opens a nested array; its members have empty keys.
  Writer& open_array() { return begin("", '['); }
  Writer& close_array();
  Writer& string(std::string_view key, std::string_view value);
  Writer& number(std::string_view key, std::int64_t value);
  Writer& boolean(std::string_view key, bool value);
  Writer& raw(std::string_view key, std::string_view value);
  /// Copies every member of another object, for which is_object() holds.
  Writer& members(std::string_view object);

 private:
  Writer& begin(std::string_view key, char bracket);
  void name(std::string_view key);

  Text& out_;
  bool first_ = true;
};

}  // namespace lastcall::shim::json
