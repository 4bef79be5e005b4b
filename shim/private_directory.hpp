// The directory that `lastcall run` made for the sockets of this run alone.
//
// Rule: the process that has become the shim removes it, however that process ends; the supervisor
// may never have run, or may have been killed before. Source: docs/cli.md.
#pragma once

namespace lastcall::shim {

/// Removes the directory with its content; `path` is null if there is none.
void remove_private_directory(char const* path);

}  // namespace lastcall::shim
