// A YAML stream as a tree that knows which bytes each node stands in.
//
// Rules:
//  1. Nothing is resolved: an alias is a node of its own, a merge key an ordinary key, so that no
//     input can explode and each node has bytes of its own.
//  2. `begin` is the first byte of a node, with its anchor and tag; `end` the one after its last.
//     Comments, line ends and the commas and colons between nodes belong to no node.
//  3. Where the end cannot be found, it is kNowhere: such a node can be read, never edited.
//  4. The stream is cut at its document marks first, so that a document that is not understood has
//     its own place in the problems.
//
// Pure values, no thread rule. Source: YAML 1.2, as far as yaml-cpp reads it; JSON is a part of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"

namespace lastcall::inject {

inline constexpr std::size_t kNowhere = std::string_view::npos;
/// The largest file, in bytes. What Helm renders stays far below.
inline constexpr std::size_t kMaximumSize = std::size_t{32} << 20;

struct Entry;

struct Node {
  enum class Kind { null, scalar, list, map, alias };

  Kind kind = Kind::null;
  bool is_flow = false;    // of a list or map: in brackets, as all of JSON is
  bool is_quoted = false;  // of a scalar: a text, whatever it looks like
  bool is_block = false;   // of a scalar: '|' or '>'
  std::size_t begin = 0;
  std::size_t end = kNowhere;
  std::size_t anchor = 0;  // of an alias: what it stands for; 0: none
  std::string text;        // of a scalar
  std::vector<Node> items;
  std::vector<Entry> entries;  // in the order of the file; a key may be there twice
};

struct Entry {
  Node key;
  Node value;
};

struct Document {
  Node root;
  std::vector<std::size_t> aliased;  // anchors that an alias of this document stands for
};

struct Stream {
  std::vector<Document> documents;
  config::Problems problems;  // the stream is not YAML; `documents` is then incomplete
};

/// `source` is what problems name.
Stream parse_stream(std::string_view text, std::string const& source);

/// The place of a byte, both numbers from 1, columns in bytes.
config::Place place_at(std::string_view text, std::size_t at, std::string const& source);

/// The entry of a map; nothing where there is none, or the node is not a map.
Entry const* find_entry(Node const& map, std::string_view key);
Node const* find(Node const& map, std::string_view key);
/// Along maps, "spec.template".
Node const* find_path(Node const& map, std::string_view path);
/// The text of an entry that is a scalar; else empty.
std::string_view text_of(Node const& map, std::string_view key);
/// The item of a list of maps whose `name` is this.
Node const* find_named(Node const* list, std::string_view name);

/// Whether two nodes have the same content, wherever they stand and however they are laid out.
bool same(Node const& one, Node const& other);

}  // namespace lastcall::inject
