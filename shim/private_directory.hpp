// The directory that `lastcall run` made for the sockets of this run alone.
//
// Rule: a process that has become the shim removes it, however it ends; the supervisor may never
// have been there, or not have lived to do so. Source: docs/cli.md.
#pragma once

namespace lastcall::shim {

/// With what is in it; null: there is none.
void remove_private_directory(char const* path);

}  // namespace lastcall::shim
