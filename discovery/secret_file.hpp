// A password or token in a file, as Kubernetes mounts it: read each time, because it is rotated.
//
// Rules:
//  1. A mounted secret is a link, so links are followed; what is no regular file in the end is
//     refused, and never waited for.
//  2. A secret is one line of at most 64 KiB.
//
// No state, no thread rule; blocks as regular files do. Source: projected service account tokens.
#pragma once

#include <optional>
#include <string>

namespace lastcall::discovery {

/// The first line; nothing if there is none.
std::optional<std::string> read_secret(std::string const& path);

/// "FILE: what is wrong with it", where it was not read.
std::string why_no_secret(std::string const& path);

/// Puts the file's password in place of the configured one, where there is a file; returns what
/// fails.
std::string read_password(std::string const& path, std::string& password);

}  // namespace lastcall::discovery
