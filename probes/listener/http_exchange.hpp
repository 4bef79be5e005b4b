// One HTTP exchange in memory: the bytes of a request head in, the bytes of the answer out.
//
// Rules:
//  1. The relay's strict parser reads the head. It matches no patterns and does not recurse, so its
//     time and stack use do not depend on the content; the thread's stack is small.
//  2. The request's body is never read, and an answer is never compressed.
//  3. An exception in the handler becomes a 500 that reveals nothing about it to the client.
//
// Pure except for the handler; no thread rule. Source: RFC 9112.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "probes/listener/listener.hpp"

namespace lastcall::probes {

/// No reply means that the handler answers later: answer_head() then returns no bytes.
using HeadHandler = std::function<std::optional<Reply>(Request const&)>;

/// `head` ends with the empty line. A malformed head is answered without calling `handler`.
std::string answer_head(std::string_view head, HeadHandler const& handler);

}  // namespace lastcall::probes
