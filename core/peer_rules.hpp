// The effects of connecting and disconnecting SDK peers on a drain, a cleanup and the engine.
//
// Owned by the core's thread. Source: specification, 'Peers'; specification, 'Reconnecting'.
#pragma once

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// Joint rule: decides about peers that are not back in time.
void expire_peers(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
