// One HTTP exchange in memory: the bytes of a request head in, the bytes of the answer out.
//
// Rules:
//  1. The relay's strict parser reads the head, in time and stack that do not depend on what it
//     holds: no pattern is matched, nothing recurses. The thread's stack is small.
//  2. The request's body is never read, and an answer is never compressed.
//  3. An exception of the handler becomes a 500 that reveals nothing of it to the client.
//
// Pure but for the handler; no thread rule. Source: RFC 9112.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "probes/listener/listener.hpp"

namespace lastcall::probes {

/// No reply means "not yet": the answer's bytes are then empty.
using HeadHandler = std::function<std::optional<Reply>(Request const&)>;

/// `head` ends with the empty line. Anything else is answered without asking `handler`.
std::string answer_head(std::string_view head, HeadHandler const& handler);

}  // namespace lastcall::probes
