// Forks, as the sessions of this process must know of them: a child's copies are no-ops.
//
// Thread rule: any thread. Source: fork(2), pthread_atfork(3).
#pragma once

#include <cstdint>

namespace lastcall::sdk {

class Session;

/// Another number in each forked child. Costs a load.
std::uint64_t fork_generation();
/// In each child that is forked from now on the session lets go of its descriptors.
void watch_forks(Session& session);
void unwatch_forks(Session& session);

}  // namespace lastcall::sdk
