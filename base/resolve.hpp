// A host's name as the addresses that the system has for it now.
//
// It blocks for as long as the servers of resolv.conf let it: a caller that must be able to stop
// waiting asks on a thread that may be left behind (thread.hpp). Any thread. Source:
// getaddrinfo(3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace lastcall {

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

struct Resolved {
  std::vector<SocketAddress> addresses;  // for streams, in the system's order
  std::string error;  // 'Name or service not known'; empty: there is one at least
};

Resolved resolve(std::string const& host, std::uint16_t port);

}  // namespace lastcall
