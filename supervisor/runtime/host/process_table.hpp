// Knows which process descends from which, and holds a process so that a later one with the same
// number is not mistaken for it.
//
// Rules: the contents of /proc are outdated as soon as they are read, so a process is opened first,
// examined afterwards, and signalled through its descriptor. If the kernel or a sandbox refuses
// descriptors, the start time identifies a process, because a process that reuses the number has
// another one.
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
  Descriptor fd;  // empty if processes have no descriptors
  /// In ticks since the machine's start; identifies the process if `fd` is empty. 0: it is gone.
  std::uint64_t started_at = 0;
  explicit operator bool() const { return fd || started_at != 0; }
};

std::optional<Relatives> relatives_of(pid_t pid);
std::vector<Relatives> all_processes();

/// Empty if the process is gone.
HeldProcess open_process(pid_t pid);
bool has_ended(HeldProcess const& process);
void send(HeldProcess const& process, int signal);

/// Sends KILL to every descendant of `root`, including those in sessions of their own, but not to
/// `root` itself: descendants can be found only while `root` is alive.
void kill_descendants(pid_t root);

}  // namespace lastcall::runtime
