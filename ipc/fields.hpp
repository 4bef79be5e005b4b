// Looks up the fields of one decoded line by name and type.
//
// Rules:
//  1. After the first error no further field is set, so a decoder reads all of its fields and checks
//     for an error once, at the end.
//  2. `null` counts as absent, except in change() and share().
//
// Pure, no thread rule. Source: docs/ipc.md, 'Fields'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "ipc/field_error.hpp"
#include "ipc/to_supervisor.hpp"

namespace lastcall::ipc {

class Fields {
 public:
  static constexpr bool kReads = true;

  /// `members` must outlive this; `place` is prefixed to names in errors: "engine.".
  explicit Fields(std::vector<json::Member> const& members, std::string_view place = {})
      : members_(members), error_(place) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Each function sets `to` to a field. It is an error if one of these is absent: id, ids, word,
  // growing_word, signal_name, raw_object, what is called required, and an instant or duration that
  // is not a std::optional. Without any other field `to` stays as it is.

  /// 1 to kMaxId bytes.
  void id(std::string_view key, std::string& to);
  void optional_id(std::string_view key, std::string& to);
  void ids(std::string_view key, std::vector<std::string>& to);
  void optional_ids(std::string_view key, std::vector<std::string>& to);
  /// An absent text is the same as an empty one.
  void text(std::string_view key, std::string& to, std::size_t max = kMaxLine);
  void required_text(std::string_view key, std::string& to, std::size_t max = kMaxLine);
  /// A signal's name, without a leading SIG.
  void signal_name(std::string_view key, std::string& to);
  /// Any JSON value as text.
  void raw(std::string_view key, std::string& to);
  /// A JSON object as text.
  void raw_object(std::string_view key, std::string& to);

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
  void duration(std::string_view key, Duration& to);
  void duration(std::string_view key, std::optional<Duration>& to, Bounds bounds = {});
  void instant(std::string_view key, Instant& to);
  void instant(std::string_view key, std::optional<Instant>& to);
  void change(std::string_view key, Change<std::uint64_t>& to, Bounds bounds = {});
  /// A number of 0 to 1.
  void share(std::string_view key, Change<double>& to);

  /// One word of a closed set.
  template <typename Enum>
  void word(std::string_view key, Enum& to) {
    if (has(key)) {
      optional_word(key, to);
    } else {
      error_.missing(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>));
    }
  }
  template <typename Enum>
  void optional_word(std::string_view key, Enum& to) {
    std::string given;
    text(key, given);
    if (!has(key) || error_.is_set()) {
      return;
    }
    auto const parsed = lifecycle::parse_word<Enum>(given);
    if (!parsed) {
      error_.unexpected(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>), quoted(given));
    }
    to = parsed.value_or(to);
  }
  /// Like word(), for a set that may grow within a protocol version: a word that this side does not
  /// know becomes `unknown`.
  template <typename Enum>
  void growing_word(std::string_view key, Enum& to, Enum unknown) {
    if (!has(key)) {
      error_.missing(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>));
    }
    std::string given;
    text(key, given);
    to = lifecycle::parse_word<Enum>(given).value_or(unknown);
  }

  /// A nested object.
  template <typename Part>
  void object(std::string_view key, Part& to) {
    if (!has(key)) {
      return;
    }
    std::vector<json::Member> const members = members_of(key);
    std::string const place = std::string(key) + ".";
    Fields inner(members, place);
    each_field(inner, to);
    error_.adopt(inner.error());
  }
  template <typename Part>
  void required_object(std::string_view key, Part& to) {
    if (!has(key)) {
      error_.missing(key, "an object");
    }
    object(key, to);
  }

  FieldError& error() { return error_; }

 private:
  json::Value const* find(std::string_view key) const;
  json::Value const* find_kind(std::string_view key, json::Kind kind, std::string_view expected);
  std::string bounded(std::string_view key, json::Value const& value, std::size_t min,
                      std::size_t max);
  std::optional<bool> boolean_of(std::string_view key);
  std::optional<std::uint64_t> number_of(std::string_view key, Bounds bounds);
  void require_number(std::string_view key, Bounds bounds);
  /// Whether the field is null, which clears the setting.
  bool clears(std::string_view key) const;
  std::vector<json::Member> members_of(std::string_view key);

  template <typename Number>
  static void set(Number& to, std::uint64_t given) {
    to = static_cast<Number>(given);
  }
  template <typename Number>
  static void set(std::optional<Number>& to, std::uint64_t given) {
    to = static_cast<Number>(given);
  }

  std::vector<json::Member> const& members_;
  FieldError error_;
};

}  // namespace lastcall::ipc
