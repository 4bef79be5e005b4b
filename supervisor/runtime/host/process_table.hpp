// Knows which process descends from which, and holds a process so that no other one can get its
// number.
//
// Rules: what /proc lists is outdated when it is read, so a process is opened first and examined
// afterwards, and signalled through its descriptor. If kernel or sandbox refuse descriptors, its
// start time identifies it, because a number that is used again has another one.
//
// No state, no thread rule. Source: proc(5), pidfd_open(2).
#pragma once

#include <cstdint>
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

struct HeldProcess {
  pid_t pid = 0;
  Descriptor fd;                 // empty where processes have no descriptors; then ...
  std::uint64_t started_at = 0;  // ... this, in ticks since the machine's start; 0: it is gone
  explicit operator bool() const { return fd || started_at != 0; }
};

std::optional<Relatives> relatives_of(pid_t pid);
std::vector<Relatives> all_processes();

/// Empty if it is gone.
HeldProcess open_process(pid_t pid);
bool has_ended(HeldProcess const& process);
void send(HeldProcess const& process, int signal);

/// KILL to everything that descends from `root`, sessions of their own included, but not to itself:
/// while it lives, and is not reaped, they are found through it.
void kill_descendants(pid_t root);

}  // namespace lastcall::runtime
