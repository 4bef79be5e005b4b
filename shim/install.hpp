// `--install DIR`: copies the running program into a shared volume, for an init container whose
// image has the shim, in front of an engine image that has not.
//
// Rule: the target appears whole or not at all (temporary file, then rename).
#pragma once

namespace lastcall::shim {

/// Exit code.
int install_into(char const* directory);

}  // namespace lastcall::shim
