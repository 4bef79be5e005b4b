// A password or token in a file, as Kubernetes mounts it. It is read each time it is needed,
// because it is rotated.
//
// Rules:
//  1. A mounted secret is a link, so links are followed. If the target is not a regular file, it is
//     refused and never waited for.
//  2. A secret is one line of at most 64 KiB.
//
// No state, no thread rule; blocks as regular files do. Source: projected service account tokens.
#pragma once

#include <optional>
#include <string>

namespace lastcall::discovery {

/// The first line of the file; nothing if there is none.
std::optional<std::string> read_secret(std::string const& path);

/// "FILE: what is wrong with it", for a file that read_secret() could not read.
std::string why_no_secret(std::string const& path);
/// The same as a sentence, for a file with a token.
std::string why_no_token(std::string const& path);
/// The same for the token with which a pod asks the API server.
std::string why_no_service_account(std::string const& path);

/// Replaces the configured password by the one in the file, if a file is configured. Returns what
/// failed, or an empty text.
std::string read_password(std::string const& path, std::string& password);

}  // namespace lastcall::discovery
