// Decides which patterns `cleanup.paths` may contain, for `check` and for the removal itself.
//
//  1. A pattern is absolute, without '.' and '..'.
//  2. It is below /tmp, /var/tmp, /run or /dev/shm, where leftovers usually are; or
//  3. it is elsewhere with at least two fixed directories before the part that is removed, so that
//     a slip cannot remove a whole home directory or the root of a volume.
//
// Pure, no thread rule.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::config {

/// Empty if the pattern may be used; otherwise the reason why not.
std::string refuse_cleanup_path(std::string_view pattern);

}  // namespace lastcall::config
