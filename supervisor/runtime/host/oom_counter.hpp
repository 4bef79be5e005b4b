// Counts the kernel's OOM kills in the engine's container.
//
// A kill of the whole cgroup (`memory.oom.group`, which kubelets set) kills the shim as well, so
// that no process is left to report it. The shim passes its cgroup's file with its hello, because
// an open file can still be read in the moment after the kill, before the runtime removes the
// cgroup.
//
// Rule: a file that cannot be read, or that is not a file of a cgroup, counts as no kill.
// Thread rule: the loop's thread. Source: cgroup-v2 `memory.events`, v1 `memory.oom_control`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ipc/unix_socket.hpp"

namespace lastcall::runtime {

/// The number after `oom_kill ` at the beginning of a line; absent if there is no such line.
std::optional<std::uint64_t> oom_kills_in(std::string_view text);

class OomCounter {
 public:
  /// Counts the kills from now on; with an empty descriptor, none is counted.
  void watch(Descriptor file);
  /// Whether the kernel has killed a process since watch().
  bool has_struck() const;

 private:
  std::optional<std::uint64_t> read() const;

  Descriptor file_;
  std::uint64_t before_ = 0;
};

}  // namespace lastcall::runtime
