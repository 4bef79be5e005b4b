// `--install DIR`: copies the running program into a shared volume. It is for an init container
// whose image has the shim, in a pod whose engine image does not have it.
//
// Rule: the target appears completely or not at all (temporary file, then rename).
#pragma once

namespace lastcall::shim {

/// Returns the exit code.
int install_into(char const* directory);

}  // namespace lastcall::shim
