// Looks up the fields of one decoded line by name and type.
//
// Rules:
//  1. After the first error no further field is set, so a decoder reads all of its fields and
//     checks for an error once, at the end.
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

  void duration(std::string_view key, Duration& to);
  void duration(std::string_view key, std::optional<Duration>& to, Bounds bounds = {});
  void instant(std::string_view key, Instant& to);
  void instant(std::string_view key, std::optional<Instant>& to);
  void change(std::string_view key, Change<std::uint64_t>& to, Bounds bounds = {});
  /// A number of 0 to 1.
  void share(std::string_view key, Change<double>& to);

  FieldError& error() { return error_; }

 protected:
  std::optional<bool> boolean_of(std::string_view key);
  std::optional<std::uint64_t> number_of(std::string_view key, Bounds bounds);
  void require_number(std::string_view key, Bounds bounds);
  std::vector<json::Member> members_of(std::string_view key);

 private:
  json::Value const* find(std::string_view key) const;
  json::Value const* find_kind(std::string_view key, json::Kind kind, std::string_view expected);
  std::string bounded(std::string_view key, json::Value const& value, std::size_t min,
                      std::size_t max);
  /// Whether the field is null, which clears the setting.
  bool clears(std::string_view key) const;

  std::vector<json::Member> const& members_;
  FieldError error_;
};

}  // namespace lastcall::ipc
