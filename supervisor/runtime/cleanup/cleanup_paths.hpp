// Removes the paths that `cleanup.paths` names, and nothing else.
//
// Rules:
//  1. It removes only what the configuration's rule allows (config/cleanup_rule.hpp). It never
//     removes a path that must be kept, anything below that path, or a directory that leads to it.
//  2. No symbolic link is followed, neither on the way to a path nor below it: every step is an
//     openat(2) with O_NOFOLLOW, so that replacing a directory by a link in the meantime has no
//     effect. A link that matches is removed as a link.
//  3. It does not cross into another file system: a volume that is mounted below a path is left
//     alone.
//  4. It stops at the deadline, which it checks before each entry.
//
// The call blocks, so it belongs on a thread that may wait. Source: openat(2), unlinkat(2),
// fnmatch(3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/instant.hpp"
#include "supervisor/runtime/cleanup/cleanup_hooks.hpp"

namespace lastcall::runtime {

/// `kept` names the supervisor's own files and directories.
ItemResult remove_paths(std::vector<std::string> const& patterns,
                        std::vector<std::string> const& kept, lifecycle::Instant deadline);

}  // namespace lastcall::runtime
