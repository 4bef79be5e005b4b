// Finds out where nodes end: yaml-cpp reports only where they begin.
//
// Rules:
//  1. Given a tree whose nodes have their starts, in the order of the text, set_extents() fills in
//     the ends. A list or map ends with its last part; in brackets it ends after the bracket.
//  2. The start of the next node bounds each node, so that a mistake about one cannot affect the
//     next.
//  3. If a layout is not understood, the node and all nodes that contain it get kNowhere.
//
// Internal to inject. Pure, no thread rule. Source: YAML 1.2.2, chapters 6 to 8.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "inject/node.hpp"

namespace lastcall::inject {

/// `begins` has the start of each node, including keys, in the order of the text. `limit` is the
/// end of the document.
void set_extents(Node& root, std::string_view text, std::vector<std::size_t> const& begins,
                 std::size_t limit);

/// The position after the anchor and the tag that a node may begin with.
std::size_t content_of(std::string_view text, Node const& node);

/// The first byte from `at` on that does not belong to a space, a line end or a comment.
std::size_t skip_space(std::string_view text, std::size_t at);

std::size_t line_begin(std::string_view text, std::size_t at);
/// The position of the '\n', or the end of the text.
std::size_t line_end(std::string_view text, std::size_t at);
/// The start of the next line; the end of the text if there is none.
std::size_t next_line(std::string_view text, std::size_t at);
/// Whether only spaces are before it on its line.
bool is_first_in_line(std::string_view text, std::size_t at);

}  // namespace lastcall::inject
