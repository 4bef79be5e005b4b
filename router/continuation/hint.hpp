// The announcement of a draining worker that one of its streams will not fit into what is left of
// its time.
//
// Rule: it is a comment of the stream, so that clients that do not know it ignore it; it is sent
// only to clients that announced themselves as routers. Pure, no thread rule. Source:
// docs/continuation.md, 'Early hand-off'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::router::continuation {

/// What a draining worker announces in a comment of the stream.
struct Hint {
  std::string request_id;
  std::uint64_t deadline_ms = 0;  // until it cuts the stream
};
/// Reads the text of a comment, as in Event::data.
std::optional<Hint> read_hint(std::string_view comment);

}  // namespace lastcall::router::continuation
