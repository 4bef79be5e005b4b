// A value to be written into a document: a small tree, and its text in the style of its place.
//
// Rules:
//  1. A text is quoted if a reader of YAML 1.1 or 1.2 could take it for something else.
//  2. Inside brackets everything is written as JSON, which is also YAML; elsewhere in lines, with
//     short lists and maps in brackets.
//
// Pure values, no thread rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lastcall::inject {

struct Member;

struct Value {
  enum class Kind { text, literal, list, map };

  Kind kind = Kind::text;
  std::string text;  // a literal (a number, true, false) as it is written
  std::vector<Value> items;
  std::vector<Member> members;

  Value(std::string string);
  Value(std::string_view string);
  Value(char const* string);
  Value(Kind of_kind);

  static Value number(std::int64_t number);
  static Value boolean(bool yes);
  static Value list(std::vector<Value> items);
  static Value map(std::vector<Member> members);

  bool is_collection() const { return kind == Kind::list || kind == Kind::map; }
};

struct Member {
  std::string key;
  Value value;
};

/// On one line, as JSON.
std::string to_json(Value const& value);
/// On one line, as YAML.
std::string to_flow(Value const& value);

/// `compact`: short values are written in brackets after their key.
enum class Layout { compact, in_lines };

/// The lines "key: value" of an entry, each with its indent and without a line end.
std::vector<std::string> entry_lines(Member const& member, std::size_t indent,
                                     Layout layout = Layout::compact);
/// The lines "- value" of an item.
std::vector<std::string> item_lines(Value const& value, std::size_t indent);

}  // namespace lastcall::inject
