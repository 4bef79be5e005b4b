// Edits a text at the places of its nodes and keeps every other byte.
//
// Rules:
//  1. In block style whole lines are inserted and removed; in brackets, a part and its comma.
//     Removing takes out exactly the bytes that were inserted.
//  2. An inserted line gets the line end of the line next to it.
//  3. If a layout has no safe place for an edit, nothing is edited there, and trouble() names it.
//
// The text and the nodes outlive the editor. Pure, no thread rule.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inject/node.hpp"
#include "inject/value.hpp"

namespace lastcall::inject {

struct Edit {
  std::size_t at = 0;
  std::size_t removed = 0;
  std::string text;
};

struct Trouble {
  std::size_t at = 0;
  std::string what;
};

class Editor {
 public:
  explicit Editor(std::string_view text) : text_(text) {}

  /// Adds everything that a map gets; to be called once for each map.
  void add(Node const& map, std::vector<Member> const& members);
  /// Inserts before the existing items.
  void prepend(Node const& list, std::vector<Value> const& values);
  void append(Node const& list, Value const& value);
  /// Replaces an existing scalar by `raw`.
  void replace(Node const& scalar, std::string raw);
  /// Gives a number to a key without a value, in its line; and takes it away again.
  void fill_in_line(Entry const& entry, std::string const& number);
  void empty_in_line(Entry const& entry);
  /// Gives a list or map to a key without a value, such as "env:".
  void fill(Entry const& entry, Value const& value);

  void remove_entries(Node const& map, std::function<bool(Entry const&)> const& chosen);
  void remove_items(Node const& list, std::function<bool(Node const&)> const& chosen);

  /// All edits, in the order of the text.
  std::vector<Edit> edits() const;
  std::optional<Trouble> const& trouble() const { return trouble_; }

 private:
  void put(std::size_t at, std::string text) { edits_.push_back({at, 0, std::move(text)}); }
  void cut(std::size_t from, std::size_t to) { edits_.push_back({from, to - from, {}}); }
  void fail(std::size_t at, std::string what);
  std::string line_break(std::size_t at) const;
  void put_lines_before(std::size_t line, std::vector<std::string> const& lines);
  void put_lines_behind(std::size_t at, std::vector<std::string> const& lines);
  void put_first_in_brackets(Node const& node, std::size_t first, std::string const& text);
  void put_last_in_brackets(std::size_t first, std::size_t last, std::string const& text);
  void cut_lines(std::size_t first, std::size_t last);

  std::string_view text_;
  std::vector<Edit> edits_;
  std::vector<Edit> lines_;  // whole lines that are removed
  std::optional<Trouble> trouble_;
};

/// The text with all edits applied; they must be in the order of the text.
std::string edited(std::string_view text, std::vector<Edit> const& edits);

}  // namespace lastcall::inject
