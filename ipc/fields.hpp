// Looks up the fields of one decoded line by name and type.
//
// Rules:
//  1. After the first error every further lookup returns a default, so a decoder reads all of its
//     fields and checks for an error once, at the end.
//  2. `null` counts as absent, except in change().
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

/// The largest duration or instant in milliseconds: a sum of a few of them still fits into 64 bits.
inline constexpr std::uint64_t kMaxMs = 1'000'000'000'000'000;

class Fields {
 public:
  /// `members` must outlive this; `place` is prefixed to names in errors: "engine.".
  explicit Fields(std::vector<json::Member> const& members, std::string_view place = {})
      : members_(members), error_(place) {}

  /// An id: 1 to kMaxId bytes.
  std::string id(std::string_view key);
  std::string optional_id(std::string_view key);
  std::vector<std::string> ids(std::string_view key);
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// An absent text is the same as an empty one.
  std::string text(std::string_view key, std::size_t max = kMaxLine);
  std::string required_text(std::string_view key, std::size_t max = kMaxLine);
  bool boolean(std::string_view key, bool absent);
  std::optional<bool> optional_boolean(std::string_view key);
  std::optional<std::uint64_t> number(std::string_view key, std::uint64_t min, std::uint64_t max);
  std::uint64_t required_number(std::string_view key, std::uint64_t min, std::uint64_t max);
  std::optional<Duration> duration(std::string_view key, std::uint64_t min_ms = 0);
  Duration required_duration(std::string_view key);
  std::optional<Instant> instant(std::string_view key);
  Instant required_instant(std::string_view key);
  Change<std::uint64_t> change(std::string_view key, std::uint64_t min, std::uint64_t max);
  Change<double> share(std::string_view key);
  /// A signal's name, without a leading SIG.
  std::string signal_name(std::string_view key);
  /// Any JSON value as text.
  std::string raw(std::string_view key);
  std::string required_raw_object(std::string_view key);
  /// The members of a nested object; empty when absent.
  std::vector<json::Member> object(std::string_view key);

  /// One word of a closed set.
  template <typename Enum>
  Enum word(std::string_view key) {
    auto const found = optional_word<Enum>(key);
    if (!found && !error_.is_set()) {
      error_.missing(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>));
    }
    return found.value_or(Enum{});
  }
  /// Like word(), for a set that may grow within a protocol version: a word that this side does not
  /// know becomes `unknown`.
  template <typename Enum>
  Enum growing_word(std::string_view key, Enum unknown) {
    json::Value const* const value = find_kind(key, json::Kind::string, "a string");
    if (value == nullptr) {
      if (!error_.is_set()) {
        error_.missing(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>));
      }
      return unknown;
    }
    return lifecycle::parse_word<Enum>(json::to_string(*value)).value_or(unknown);
  }
  template <typename Enum>
  std::optional<Enum> optional_word(std::string_view key) {
    json::Value const* const value = find_kind(key, json::Kind::string, "a string");
    if (value == nullptr) {
      return std::nullopt;
    }
    std::string const given = json::to_string(*value);
    auto const parsed = lifecycle::parse_word<Enum>(given);
    if (!parsed) {
      error_.unexpected(key, one_of(lifecycle::vocabulary::kWordsOf<Enum>), quoted(given));
    }
    return parsed;
  }

  FieldError& error() { return error_; }

 private:
  json::Value const* find(std::string_view key) const;
  json::Value const* find_kind(std::string_view key, json::Kind kind, std::string_view expected);
  std::string bounded(std::string_view key, json::Value const& value, std::size_t min,
                      std::size_t max);

  std::vector<json::Member> const& members_;
  FieldError error_;
};

}  // namespace lastcall::ipc
