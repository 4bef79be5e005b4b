// A YAML document as a small tree of our own, with a place for each node.
//
// Rules:
//  1. It supports only what a configuration needs: maps with text keys, lists, scalars and null.
//     Anchors, aliases, tags, duplicate keys, a second document and anything that is not UTF-8 text
//     are problems and never silently resolved: an alias is not expanded, so no input can explode.
//  2. An `invalid` node takes the place of a part that is refused; readers skip it without a second
//     complaint.
//  3. The tree records whether a scalar was quoted: a quoted number is a text.
//  4. Input over kMaximumSize is refused before it is parsed.
//
// Pure values, no thread rule. Source: YAML 1.2, as far as yaml-cpp reads it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/problem.hpp"

namespace lastcall::config {

inline constexpr std::size_t kMaximumSize = std::size_t{1} << 20;

struct Entry;

struct Node {
  enum class Kind { null, scalar, list, map, invalid };
  /// `raw` is the value of a flag or variable: it has no type of its own.
  enum class Style { plain, quoted, raw };

  Kind kind = Kind::null;
  Style style = Style::plain;
  std::string text;  // for a scalar
  Place place;
  std::vector<Node> items;     // for a list
  std::vector<Entry> entries;  // for a map, in file order, with unique keys
};

struct Entry {
  std::string key;
  Place place;  // of the key
  Node value;
};

/// Parses one document. Problems name `source` as their place. The result is an `invalid` node if
/// the text as a whole is not YAML.
Node parse_document(std::string_view text, std::string const& source, Problems& problems);

/// Parses the value of a flag: the whole text is one value, and every place is `place`. The text
/// must have passed find_bad_byte().
Node parse_value(std::string_view text, Place const& place, Problems& problems);

}  // namespace lastcall::config
