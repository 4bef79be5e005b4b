// One look at a network: whether a port is free, whether a process listens, what a GET is answered.
//
// Thread rule: none; each blocks for kReach at most, but for the lookup of a name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lastcall::doctor {

struct Target {
  std::string host;
  std::uint16_t port = 0;
  std::string path = "/";
};

/// Knows http, https and nats; nothing where the URL has another scheme.
std::optional<Target> target_of(std::string const& url);
std::string text_of(Target const& target);

/// The folder, or the nearest one above it that exists: a user that may write there can make the
/// rest.
std::string existing_folder(std::string const& folder);
/// 0: a process accepts connections at a Unix socket's path; or the errno.
int socket_error(std::string const& path);
/// 0, or the errno of listening there.
int listen_error(std::string const& host, std::uint16_t port);
/// Empty: a process accepts connections. Otherwise why not.
std::string connect_problem(Target const& target);
/// The first 64 KiB of the answer, head and body; nothing without one.
std::optional<std::string> get(Target const& target);

}  // namespace lastcall::doctor
