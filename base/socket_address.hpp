// The address of a socket of any family, in the form that system calls take.
//
// Header-only: the shim uses it, too. Values only, no thread rule. Source: socket(7), unix(7).
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

namespace lastcall {

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;

  int family() const { return address.ss_family; }
  sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&address); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&address); }
};

/// The longest path of a Unix socket, in bytes.
inline constexpr std::size_t kLongestSocketPath = sizeof(sockaddr_un::sun_path) - 1;

/// The address of a Unix socket. The caller has checked the path's length: a longer one is cut off.
inline SocketAddress unix_address(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path = path.substr(0, kLongestSocketPath);
  std::memcpy(address.sun_path, path.data(), path.size());
  SocketAddress made;
  std::memcpy(&made.address, &address, sizeof address);
  made.size = sizeof address;
  return made;
}

}  // namespace lastcall
