// The exchange with the supervisor. Orders become events, and the state table has their effects.
//
// Thread rule: there is one thread. Source: docs/ipc.md; specification, 'Shims'.
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// Connects if that is due, and obeys orders that have come.
void talk(Parts& s, bool is_readable);
/// Reads what the shim's own supervisor wrote before it ended, because an end that follows an order
/// to exit is not a crash.
void receive_last_words(Parts& s);

}  // namespace lastcall::shim
