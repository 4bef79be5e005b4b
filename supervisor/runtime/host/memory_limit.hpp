// The memory limit of the supervisor's cgroup.
//
// It is the smallest limit from its own cgroup up to the root, in version 2 and 1 of the hierarchy;
// what cannot be read is not a limit. In a container with a namespace of its own the root is the
// container. Thread rule: none. Source: cgroups(7); cgroup-v2 `memory.max`, v1
// `memory.limit_in_bytes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lastcall::runtime {

/// In bytes; absent if there is no readable limit. `root` is put before each path.
std::optional<std::uint64_t> memory_limit(std::string const& root = {});

}  // namespace lastcall::runtime
