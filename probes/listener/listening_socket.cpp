#include "probes/listener/listening_socket.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error_text.hpp"

namespace lastcall::probes {

namespace {

constexpr int kBacklog = 128;

struct BoundAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_UNSPEC;

  sockaddr* get() { return std::bit_cast<sockaddr*>(&storage); }
};

/// False if `host` is not a numeric address.
bool parse_numeric(std::string const& host, std::uint16_t port, BoundAddress& out) {
  sockaddr_in v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.size = sizeof v4;
    out.family = AF_INET;
    return true;
  }
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.size = sizeof v6;
    out.family = AF_INET6;
    return true;
  }
  return false;
}

std::uint16_t bound_port(int fd) {
  BoundAddress address;
  address.size = sizeof address.storage;
  if (getsockname(fd, address.get(), &address.size) != 0) {
    return 0;
  }
  in_port_t port = 0;  // at the same offset in the addresses of both families
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  std::memcpy(&port, std::bit_cast<char*>(&address.storage) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return ntohs(port);
}

std::string why(int error) {
  std::string text = error_text(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return error == EADDRINUSE ? text + " (another process holds the port)" : text;
}

/// 0, or the error number.
int try_listen(BoundAddress& address, Descriptor& out) {
  Descriptor fd{::socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) {
    return errno;
  }
  int const on = 1;
  int const off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return errno;
  }
  out = std::move(fd);
  return 0;
}

}  // namespace

std::string address_text(std::string const& host, std::uint16_t port) {
  bool const v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

ListeningSocket open_listening_socket(std::string const& host, std::uint16_t port) {
  ListeningSocket result{.host = host.empty() ? "::" : host};
  BoundAddress address;
  if (!parse_numeric(result.host, port, address)) {
    result.error = "cannot listen on " + address_text(host, port) +
                   ": not an address of this machine, expected an IPv4 or IPv6 address";
    return result;
  }
  int error = try_listen(address, result.descriptor);
  if (result.host == "::" && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)) {
    result.host = "0.0.0.0";
    parse_numeric(result.host, port, address);
    error = try_listen(address, result.descriptor);
  }
  if (error != 0) {
    result.error = "cannot listen on " + address_text(result.host, port) + ": " + why(error);
    return result;
  }
  result.port = bound_port(result.descriptor.get());
  return result;
}

}  // namespace lastcall::probes
