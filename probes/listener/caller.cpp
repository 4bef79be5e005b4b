#include "probes/listener/caller.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/socket_address.hpp"

namespace lastcall::probes {
namespace {

using Bytes = std::array<unsigned char, 16>;

constexpr Bytes kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0};
constexpr std::size_t kMappedPrefix = 12;

bool is_ipv4(Bytes const& address) {
  return std::equal(kMapped.begin(), kMapped.begin() + kMappedPrefix, address.begin());
}

/// Returns the address, IPv4 ones in IPv6 form; `generic` is as long as its family requires.
std::optional<Bytes> bytes_of(sockaddr const* generic) {
  Bytes bytes{};
  if (generic->sa_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, generic, sizeof address);
    std::memcpy(bytes.data(), &address.sin6_addr, bytes.size());
    return bytes;
  }
  if (generic->sa_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, generic, sizeof address);
    bytes = kMapped;
    std::memcpy(std::span(bytes).subspan(kMappedPrefix).data(), &address.sin_addr,
                sizeof address.sin_addr);
    return bytes;
  }
  return std::nullopt;
}

bool is_loopback(Bytes const& address) {
  constexpr Bytes kIpv6Loopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return is_ipv4(address) ? address[kMappedPrefix] == 127 : address == kIpv6Loopback;
}

std::string text_of(Bytes const& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  bool const short_form = is_ipv4(address);
  void const* const from = short_form ? &address[kMappedPrefix] : address.data();
  return ::inet_ntop(short_form ? AF_INET : AF_INET6, from, text.data(), text.size()) == nullptr
             ? std::string()
             : std::string(text.data());
}

using Ask = int (*)(int, sockaddr*, socklen_t*);

std::optional<Bytes> ask(Ask which, int descriptor) {
  SocketAddress address;
  address.size = sizeof address.address;
  return which(descriptor, address.get(), &address.size) == 0 ? bytes_of(address.get())
                                                              : std::nullopt;
}

/// Whether one of this host's interfaces has the address. If the kernel does not report the
/// interfaces, every caller counts as local.
bool is_of_this_host(Bytes const& address) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return true;
  }
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> const all(first, ::freeifaddrs);
  for (ifaddrs const* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr && bytes_of(each->ifa_addr) == address) {
      return true;
    }
  }
  return false;
}

}  // namespace

Caller caller_of(int descriptor, CallerFacts wanted) {
  auto const there =
      wanted == CallerFacts::none ? std::optional<Bytes>() : ask(::getpeername, descriptor);
  if (!there) {
    return {};
  }
  Caller caller{.address = text_of(*there)};
  if (wanted == CallerFacts::place) {
    std::optional<Bytes> const here = ask(::getsockname, descriptor);
    caller.is_local = is_loopback(*there) || (here && is_loopback(*here)) || there == here ||
                      is_of_this_host(*there);
  }
  return caller;
}

}  // namespace lastcall::probes
