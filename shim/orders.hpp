// The conversation with the supervisor. Orders become events; what they lead to is in the table.
//
// Thread rule: there is one thread. Source: docs/ipc.md; specification, 'Shims'.
#pragma once

#include "shim/parts.hpp"

namespace lastcall::shim {

/// Connects where that is due, and obeys what has come.
void talk(Parts& s, bool is_readable);
/// Reads what a supervisor of our own wrote before it ended: an order to exit is no crash.
void receive_last_words(Parts& s);

}  // namespace lastcall::shim
