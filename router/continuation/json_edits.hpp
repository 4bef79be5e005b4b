// Edits of a JSON text that leave every other byte unchanged.
//
// A tree is not used: it would change the order of keys, large seeds, floats, duplicate keys and
// bytes that are not UTF-8, and it would cost more than relaying the event.
//
// Rules:
//  1. Parts are views into the text; they do not overlap.
//  2. An object whose members are removed stays a valid object: the comma beside a member is
//     removed with it.
//
// Pure, no thread rule. Source: RFC 8259.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"

namespace lastcall::router::continuation {

/// The value as it is written in the text; a string includes its quotes.
std::string_view written(json::Value const& value);
/// The member as it is written, from its quoted key to the end of its value.
std::string_view written(json::Member const& member);

/// The last member of that name, or null.
json::Value const* find(std::vector<json::Member> const& members, std::string_view name);
/// Like find(), but also null if the value is `null`.
json::Value const* find_value(std::vector<json::Member> const& members, std::string_view name);

class JsonEdits {
 public:
  explicit JsonEdits(std::string_view text = {}) : text_(text) {}
  /// Begins anew with another text. The room of usual edits is kept, because every event is edited.
  void begin(std::string_view text);

  void replace(std::string_view part, std::string_view with);
  /// Replaces it by a string that has this text.
  void replace_by_string(std::string_view part, std::string_view text);
  /// Removes all members of an object for which `goes` returns true; `members` must be all members
  /// of the object.
  template <class Goes>
  void remove(std::vector<json::Member> const& members, Goes const& goes) {
    bool one_stays = false;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (goes(members[i])) {
        remove_member(members, i, one_stays);
      } else {
        one_stays = true;
      }
    }
  }
  /// Adds a member after the last one. `object` is the text of the object; `is_empty` means that
  /// none of its members stays.
  void add(std::string_view object, bool is_empty, std::string_view name, std::string_view value);

  bool empty() const { return edits_.empty(); }
  void append_to(std::string& out);
  std::string text();

 private:
  struct Edit {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t added_begin = 0;  // what comes in place of the part, in added_
    std::size_t added_end = 0;
  };
  void remove_member(std::vector<json::Member> const& members, std::size_t i, bool one_stays);
  /// In place of the part comes the end of added_, from `added` on.
  void put(std::size_t begin, std::size_t end, std::size_t added);
  std::size_t offset(char const* at) const { return static_cast<std::size_t>(at - text_.data()); }

  std::string_view text_;
  /// In the order in which they were made, until they are written in that of their positions: each
  /// of the many edits of one event would move all edits behind it.
  std::vector<Edit> edits_;
  std::string added_;  // in the order in which the edits were made
  bool are_sorted_ = true;
};

}  // namespace lastcall::router::continuation
