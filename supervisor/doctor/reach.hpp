// Single network operations: whether a port is free, whether a process listens, what a GET returns.
//
// Thread rule: none; each blocks for at most kReach, except for the lookup of a name.
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

/// Supports http, https and nats; nothing if the URL has another scheme.
std::optional<Target> target_of(std::string const& url);
std::string text_of(Target const& target);

/// The folder, or its nearest parent that exists: a user who may write there can make the rest.
std::string existing_folder(std::string const& folder);
/// 0 if a process accepts connections at a Unix socket's path; otherwise the errno.
int socket_error(std::string const& path);
/// 0 if it is possible to listen there; otherwise the errno.
int listen_error(std::string const& host, std::uint16_t port);
/// Empty if a process accepts connections; otherwise the reason why not.
std::string connect_problem(Target const& target);
/// The first 64 KiB of the answer, head and body; nothing if there is no answer.
std::optional<std::string> get(Target const& target);

}  // namespace lastcall::doctor
