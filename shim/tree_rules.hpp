// The command's descendants: what ends or stops while it runs, and what is done with the rest once
// its main process has ended or must end.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; rest_of_tree.hpp,
// tree_watch.hpp.
#pragma once

#include <optional>

#include <sys/types.h>

#include "shim/parts.hpp"

namespace lastcall::shim {

/// The signal that asks the rest of the tree to end.
int rest_signal(Parts const& s);
void kill_tree(Parts& s, pid_t spared, bool trackers_too);
/// When the tree should be looked at again; nothing where it does not matter, or is empty.
std::optional<Instant> next_pass(Parts const& s);
/// Looks, asks or kills where that is due, and reports the rest to the supervisor.
void tend_tree(Parts& s);
/// Reports to the supervisor which of the engine's processes have ended or stopped by themselves.
void report_news(Parts& s);
void repeat_first_death(Parts& s);

}  // namespace lastcall::shim
