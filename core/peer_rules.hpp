// SDK peers: what their coming and going means for a drain, a cleanup and the engine.
//
// Owned by the core's thread. Source: specification, 'Peers'; specification, 'Reconnecting'.
#pragma once

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// Joint rule: peers that are not back in time.
void expire_peers(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
