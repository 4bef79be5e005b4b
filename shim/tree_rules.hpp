// Rules for the command's descendants: those that end or stop while it runs, and the rest once its
// main process has ended or must end.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; rest_of_tree.hpp,
// tree_watch.hpp.
#pragma once

#include <optional>

#include <sys/types.h>

#include "shim/parts.hpp"

namespace lastcall::shim {

/// The stop signal for the rest of the tree.
int rest_signal(Parts const& s);
void kill_tree(Parts& s, pid_t spared, bool trackers_too);
/// The time of the next walk of the tree; absent if no time is set or the tree is empty.
std::optional<Instant> next_pass(Parts const& s);
/// Walks, signals or kills if that is due, and reports the rest of the tree to the supervisor.
void tend_tree(Parts& s);
/// Reports to the supervisor which of the engine's processes have ended or stopped by themselves.
void report_news(Parts& s);
void repeat_first_death(Parts& s);

}  // namespace lastcall::shim
