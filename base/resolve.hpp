// Resolves a host name to the addresses that the system currently has for it.
//
// It blocks until the servers of resolv.conf answer or time out: a caller that must be able to stop
// waiting calls it on a thread that may be left behind (thread.hpp). Thread rule: any thread.
// Source: getaddrinfo(3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/socket_address.hpp"

namespace lastcall {

struct Resolved {
  std::vector<SocketAddress> addresses;  // for streams, in the system's order
  std::string error;  // 'Name or service not known'; empty: there is at least one address
};

Resolved resolve(std::string const& host, std::uint16_t port);

/// The address that the text is; absent if it is a name. Never blocks.
std::optional<SocketAddress> numeric_address(std::string const& host, std::uint16_t port);

}  // namespace lastcall
