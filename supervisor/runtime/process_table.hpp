// Who descends from whom, and how to hold a process so that its number cannot become another's.
//
// Rules: what /proc lists is old when it is read; so a process is opened first and asked about
// afterwards, and signalled through its descriptor where the kernel has those.
//
// No state, no thread rule. Source: proc(5), pidfd_open(2).
#pragma once

#include <optional>
#include <vector>

#include <sys/types.h>

#include "ipc/unix_socket.hpp"

namespace lastcall::runtime {

struct Relatives {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
};

std::optional<Relatives> relatives_of(pid_t pid);
std::vector<Relatives> all_processes();

/// Empty: it is gone, or this kernel or sandbox has no such descriptors.
ipc::Fd open_process(pid_t pid);
bool has_ended(ipc::Fd const& process);
void send(ipc::Fd const& process, int signal);

/// KILL to everything that descends from `root`, sessions of their own included, but not to itself:
/// while it lives, and is not reaped, they are found through it.
void kill_descendants(pid_t root);

}  // namespace lastcall::runtime
