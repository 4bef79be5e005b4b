// Rules of requests: what may begin, what is cancelled at once, and how changes of the ledger
// affect the other machines.
//
// Owned by the core's thread. Source: specification, 'Cancellation'; specification, 'Admission'.
#pragma once

#include "core/machines.hpp"

namespace lastcall::lifecycle::rules {

/// Turns what the ledger did into endpoint counts, notes and orders.
void drain_ledger(Machines& m, Instant now);

}  // namespace lastcall::lifecycle::rules
