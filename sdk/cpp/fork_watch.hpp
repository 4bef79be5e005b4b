// Detects forks, because a child's copies of this process's sessions must do nothing.
//
// Thread rule: any thread. Source: fork(2), pthread_atfork(3).
#pragma once

#include <cstdint>

namespace lastcall::sdk {

class Session;

/// Returns a different number in each forked child. It costs one load.
std::uint64_t fork_generation();
/// In each child that is forked from now on, the session closes its descriptors.
void watch_forks(Session& session);
void unwatch_forks(Session& session);

}  // namespace lastcall::sdk
