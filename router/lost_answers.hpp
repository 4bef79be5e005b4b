// How a request ends whose answer its worker has lost, and which no other worker answers or
// continues.
//
// Pure, no thread rule. Source: docs/router.md, 'Migration'.
#pragma once

#include "relay/refusal.hpp"
#include "router/call.hpp"
#include "router/seam.hpp"

namespace lastcall::router {

/// The worker's connection broke before its answer was whole. A request that the router itself
/// would repeat may be repeated by its client, too, because this router recognizes a request that
/// ended an engine (request_risk.hpp).
relay::Refusal connection_broke(Call const& call);
/// The worker has sent nothing for too long.
relay::Refusal stood_still();
/// The answer has begun, and is not continued.
relay::Refusal not_continued(Call const& call, Seam const& seam);

}  // namespace lastcall::router
