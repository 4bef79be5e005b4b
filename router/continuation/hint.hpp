// The announcement of a draining worker that one of its streams will not fit into the rest of its
// time.
//
// Rule: it is a comment in the stream, so that clients that do not know it ignore it; it is sent
// only to clients that announced themselves as routers.
// Pure, no thread rule. Source: docs/continuation.md, 'Early hand-off'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::router::continuation {

/// What a draining worker announces in a comment of the stream.
struct Hint {
  std::string request_id;
  std::uint64_t deadline_ms = 0;  // time until it cuts the stream; at most a day is believed
};
/// Reads the hint from the text of a comment (Event::data); absent if the comment is not a hint.
std::optional<Hint> read_hint(std::string_view comment);

}  // namespace lastcall::router::continuation
