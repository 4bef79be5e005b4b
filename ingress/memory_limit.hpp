// The memory limit of this process's cgroup.
//
// It is the smallest limit from the process's own cgroup up to the root, in version 2 and 1 of
// the hierarchy. A limit that cannot be read is ignored. In a container that has a cgroup namespace
// of its own, the root is the container. Thread rule: none. Source: cgroups(7); cgroup-v2
// `memory.max`, v1 `memory.limit_in_bytes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lastcall::ingress {

/// The limit in bytes; absent if there is no readable limit. `root` is prepended to each path.
std::optional<std::uint64_t> memory_limit(std::string const& root = {});

}  // namespace lastcall::ingress
