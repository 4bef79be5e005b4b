// Removes what `cleanup.paths` names, and nothing else.
//
// Rules:
//  1. It removes only what the rule of the configuration allows (config/cleanup_rule.hpp), and
//     never what must be kept, with everything below it and the directories that lead to it.
//  2. No symbolic link is followed, neither on the way nor below: every step is an openat(2) with
//     O_NOFOLLOW, so that swapping a directory for a link in the meantime leads nowhere. A link
//     that matches is removed as a link.
//  3. No other file system is entered: a volume that is mounted below is left alone.
//  4. It stops at the deadline, which it checks before each entry.
//
// It blocks; it belongs on a worker's thread. Source: openat(2), unlinkat(2), fnmatch(3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/instant.hpp"
#include "supervisor/runtime/cleanup/cleanup_hooks.hpp"

namespace lastcall::runtime {

/// `kept`: the supervisor's own files and directories.
ItemResult remove_paths(std::vector<std::string> const& patterns,
                        std::vector<std::string> const& kept, lifecycle::Instant deadline);

}  // namespace lastcall::runtime
