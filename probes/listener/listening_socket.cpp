#include "probes/listener/listening_socket.hpp"

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/address_text.hpp"
#include "base/ascii.hpp"
#include "base/error_text.hpp"
#include "base/resolve.hpp"
#include "base/socket_address.hpp"

namespace lastcall::probes {

namespace {

constexpr int kBacklog = 128;

std::uint16_t bound_port(int fd) {
  SocketAddress address;
  address.size = sizeof address.address;
  if (getsockname(fd, address.get(), &address.size) != 0) {
    return 0;
  }
  in_port_t port = 0;  // at the same offset in the addresses of both families
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(&port, std::bit_cast<char*>(&address.address) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return ntohs(port);
}

std::string why(int error) {
  std::string text = error_text(error);
  text[0] = ascii::lower(text[0]);
  return error == EADDRINUSE ? text + " (another process holds the port)" : text;
}

/// 0, or the error number.
int try_listen(SocketAddress const& address, Descriptor& out) {
  Descriptor fd{::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) {
    return errno;
  }
  int const on = 1;
  int const off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return errno;
  }
  out = std::move(fd);
  return 0;
}

}  // namespace

ListeningSocket open_listening_socket(std::string const& host, std::uint16_t port) {
  ListeningSocket result{.host = host.empty() ? "::" : host};
  std::optional<SocketAddress> const address = numeric_address(result.host, port);
  if (!address) {
    result.error = "cannot listen on " + address_text(host, port) +
                   ": not an address of this machine, expected an IPv4 or IPv6 address";
    return result;
  }
  int error = try_listen(*address, result.descriptor);
  if (result.host == "::" && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)) {
    result.host = "0.0.0.0";
    error = try_listen(*numeric_address(result.host, port), result.descriptor);
  }
  if (error != 0) {
    result.error = "cannot listen on " + address_text(result.host, port) + ": " + why(error);
    return result;
  }
  result.port = bound_port(result.descriptor.get());
  return result;
}

}  // namespace lastcall::probes
