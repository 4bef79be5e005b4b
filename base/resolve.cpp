#include "base/resolve.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include "base/socket_address.hpp"

namespace lastcall {
namespace {

Resolved look_up(std::string const& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (int const failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list)) {
    return {{}, ::gai_strerror(failed)};
  }
  Resolved found;
  for (addrinfo const* each = list; each != nullptr; each = each->ai_next) {
    SocketAddress& one = found.addresses.emplace_back();
    std::memcpy(&one.address, each->ai_addr, each->ai_addrlen);
    one.size = each->ai_addrlen;
  }
  ::freeaddrinfo(list);
  if (found.addresses.empty()) {
    found.error = "it has no address";
  }
  return found;
}

}  // namespace

Resolved resolve(std::string const& host, std::uint16_t port) {
  return look_up(host, port, 0);
}

std::optional<SocketAddress> numeric_address(std::string const& host, std::uint16_t port) {
  // getaddrinfo(3) alone would take '127.1' and '0' for addresses, too.
  in_addr v4;
  bool const may_be_one =
      host.find(':') != std::string::npos || ::inet_pton(AF_INET, host.c_str(), &v4) == 1;
  Resolved const found = may_be_one ? look_up(host, port, AI_NUMERICHOST) : Resolved();
  return found.addresses.empty() ? std::nullopt : std::optional(found.addresses.front());
}

}  // namespace lastcall
