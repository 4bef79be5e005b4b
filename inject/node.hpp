// A YAML stream as a tree in which each node knows its bytes.
//
// Rules:
//  1. Nothing is resolved: an alias is a node of its own and a merge key an ordinary key, so that
//     no input can explode and each node has its own bytes.
//  2. `begin` is the first byte of a node, including its anchor and tag; `end` is the byte after
//     its last. Comments, line ends and the commas and colons between nodes belong to no node.
//  3. If the end cannot be found it is kNowhere: such a node can be read, but not edited.
//  4. The stream is first split at its document marks, so that a document that is not understood
//     has its own place in the problems.
//
// Pure values, no thread rule. Source: YAML 1.2, as far as yaml-cpp reads it; JSON is a subset.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"

namespace lastcall::inject {

inline constexpr std::size_t kNowhere = std::string_view::npos;
/// The largest file, in bytes. Helm's output is far smaller.
inline constexpr std::size_t kMaximumSize = std::size_t{32} << 20;

struct Entry;

struct Node {
  enum class Kind { null, scalar, list, map, alias };

  Kind kind = Kind::null;
  bool is_flow = false;    // a list or map in brackets, as in JSON
  bool is_quoted = false;  // a quoted scalar, which is always a text
  bool is_block = false;   // a scalar with '|' or '>'
  std::size_t begin = 0;
  std::size_t end = kNowhere;
  std::size_t anchor = 0;  // for an alias: the anchor that it refers to; 0: none
  std::string text;        // for a scalar
  std::vector<Node> items;
  std::vector<Entry> entries;  // in the order of the file; keys may be duplicates
};

struct Entry {
  Node key;
  Node value;
};

struct Document {
  Node root;
  std::vector<std::size_t> aliased;  // the anchors that aliases of this document refer to
};

struct Stream {
  std::vector<Document> documents;
  config::Problems problems;  // the stream is not YAML; `documents` is then incomplete
};

/// Problems name `source` as their place.
Stream parse_stream(std::string_view text, std::string const& source);

/// The place of a byte; lines and columns count from 1, columns in bytes.
config::Place place_at(std::string_view text, std::size_t at, std::string const& source);

/// The same for many places of one text, because a pod may have thousands of problems: the text is
/// searched for its lines once, at the first of them. Most texts have none. The text outlives it.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text) : text_(text) {}
  config::Place place_at(std::size_t at, std::string const& source);

 private:
  std::string_view text_;
  std::vector<std::size_t> begins_;  // empty before the first place
};

/// The entry of a map; null if there is none or the node is not a map.
Entry const* find_entry(Node const& map, std::string_view key);
Node const* find(Node const& map, std::string_view key);
/// Follows a path through maps: "spec.template".
Node const* find_path(Node const& map, std::string_view path);
/// Whether it is a node without a value, which Kubernetes takes for one that is not there.
inline bool is_null(Node const* node) {
  return node != nullptr && node->kind == Node::Kind::null;
}
/// Whether it is `true` in one of the ways in which Kubernetes' tools read it, as of YAML 1.1.
bool is_true(Node const* node);
/// The text of an entry if it is a scalar; otherwise empty.
std::string_view text_of(Node const& map, std::string_view key);
/// The item of a list of maps whose `name` is this.
Node const* find_named(Node const* list, std::string_view name);

/// Whether two nodes have the same content, regardless of their places and layouts.
bool same(Node const& one, Node const& other);

}  // namespace lastcall::inject
