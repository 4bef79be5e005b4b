// Reads and writes the fields of messages by the same names, so that message_fields.hpp lists them
// once. A reader sets a member, a writer takes its value.
//
// Pure, no thread rule. Source: docs/ipc.md, 'Fields'.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/fields.hpp"
#include "ipc/limits.hpp"
#include "ipc/line_writer.hpp"

namespace lastcall::ipc {

class MessageReader : public Fields {
 public:
  static constexpr bool kReads = true;
  using Fields::Fields;

  template <typename Flag>
  void boolean(std::string_view key, Flag& to) {
    if (auto const given = boolean_of(key)) {
      to = *given;
    }
  }
  void flag(std::string_view key, bool& to) { boolean(key, to); }

  /// `to` is an integer, or optional.
  template <typename Number>
  void number(std::string_view key, Number& to, Bounds bounds = {}) {
    if (auto const given = number_of(key, bounds)) {
      set(to, *given);
    }
  }
  template <typename Number>
  void nonzero(std::string_view key, Number& to, Bounds bounds = {}) {
    number(key, to, bounds);
  }
  template <typename Number>
  void required_number(std::string_view key, Number& to, Bounds bounds = {}) {
    require_number(key, bounds);
    number(key, to, bounds);
  }
  /// One word of a closed set.
  template <typename Enum>
  void word(std::string_view key, Enum& to) {
    if (has(key)) {
      optional_word(key, to);
    } else {
      error().missing(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>));
    }
  }
  template <typename Enum>
  void optional_word(std::string_view key, Enum& to) {
    std::string given;
    text(key, given);
    if (!has(key) || error().is_set()) {
      return;
    }
    auto const parsed = lifecycle::parse_word<Enum>(given);
    if (!parsed) {
      error().unexpected(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>), quoted(given));
    }
    to = parsed.value_or(to);
  }
  /// Like word(), for a set that may grow within a protocol version: a word that this side does not
  /// know becomes `unknown`.
  template <typename Enum>
  void growing_word(std::string_view key, Enum& to, Enum unknown) {
    if (!has(key)) {
      error().missing(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>));
    }
    std::string given;
    text(key, given);
    to = lifecycle::parse_word<Enum>(given).value_or(unknown);
  }

  /// A nested object, whose fields `read` sets.
  template <typename Read>
  void object(std::string_view key, Read const& read) {
    if (!has(key)) {
      return;
    }
    std::vector<json::Member> const members = members_of(key);
    std::string const place = std::string(key) + ".";
    MessageReader inner(members, place);
    read(inner);
    error().adopt(inner.error());
  }
  template <typename Read>
  void required_object(std::string_view key, Read const& read) {
    if (!has(key)) {
      error().missing(key, "an object");
    }
    object(key, read);
  }

 private:
  template <typename Number>
  static void set(Number& to, std::uint64_t given) {
    to = static_cast<Number>(given);
  }
  template <typename Number>
  static void set(std::optional<Number>& to, std::uint64_t given) {
    to = static_cast<Number>(given);
  }
};

class MessageWriter : public LineWriter {
 public:
  static constexpr bool kReads = false;
  using LineWriter::boolean;
  using LineWriter::LineWriter;

  void signal_name(std::string_view key, std::string_view value) {
    required_text(key, value, kMaxSignalName);
  }
  void optional_id(std::string_view key, std::string_view value) { text(key, value, kMaxId); }
  void optional_ids(std::string_view key, std::span<std::string const> values) {
    if (!values.empty()) {
      ids(key, values);
    }
  }
  void boolean(std::string_view key, std::optional<bool> value) {
    if (value) {
      boolean(key, *value);
    }
  }
  template <std::integral Number>
  void required_number(std::string_view key, Number value, Bounds bounds = {}) {
    number(key, value, bounds);
  }
  /// Written only if it is not 0: the default is 0.
  template <std::integral Number>
  void nonzero(std::string_view key, Number value, Bounds bounds = {}) {
    if (value != 0) {
      number(key, value, bounds);
    }
  }
  void share(std::string_view key, Change<double> const& value) { change(key, value); }
  template <typename Enum>
  void optional_word(std::string_view key, Enum value) {
    word(key, value);
  }
  template <typename Enum>
  void growing_word(std::string_view key, Enum value, Enum /*unknown*/) {
    word(key, value);
  }
  void raw_object(std::string_view key, std::string_view json) {
    raw(key, json.empty() ? "{}" : json);
  }
  /// A nested object, whose fields `write` writes.
  template <typename Write>
  void object(std::string_view key, Write const& write) {
    begin_object(key);
    write(*this);
    end_object();
  }
  template <typename Write>
  void required_object(std::string_view key, Write const& write) {
    object(key, write);
  }
};

}  // namespace lastcall::ipc
