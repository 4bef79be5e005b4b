// Which patterns `cleanup.paths` may hold: one rule for `check` and for the removal itself.
//
//  1. Absolute, without '.' and '..'.
//  2. Below /tmp, /var/tmp, /run or /dev/shm, where what is left behind belongs; or
//  3. elsewhere with at least two fixed directories before what is removed, so that no slip takes a
//     whole home or a volume's root.
//
// Pure, no thread rule.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::config {

/// Empty: it may be used. Else why not.
std::string refuse_cleanup_path(std::string_view pattern);

}  // namespace lastcall::config
