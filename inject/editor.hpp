// Edits of a text at the places of its nodes, so that every other byte stays.
//
// Rules:
//  1. In lines, whole lines are put in and taken out; in brackets, a part and its comma. What is
//     taken out is what was put in, byte for byte.
//  2. Line ends are those of the line beside.
//  3. Where a layout gives no place that is safe, nothing is edited there, and trouble() names it.
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

  /// All that a map gets, in one call.
  void add(Node const& map, std::vector<Member> const& members);
  /// In front of the items that are there.
  void prepend(Node const& list, std::vector<Value> const& values);
  void append(Node const& list, Value const& value);
  /// `raw` takes the place of a scalar that is there.
  void replace(Node const& scalar, std::string raw);
  /// A list or map for a key without a value, "env:".
  void fill(Entry const& entry, Value const& value);

  void remove_entries(Node const& map, std::function<bool(Entry const&)> const& chosen);
  void remove_items(Node const& list, std::function<bool(Node const&)> const& chosen);

  /// In the order of the text.
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
  std::vector<Edit> lines_;  // whole lines that are taken out
  std::optional<Trouble> trouble_;
};

/// The text with all edits made, which are in its order.
std::string edited(std::string_view text, std::vector<Edit> const& edits);

}  // namespace lastcall::inject
