#include "probes/listener/caller.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace lastcall::probes {
namespace {

using Bytes = std::array<unsigned char, 16>;

constexpr Bytes kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0};
constexpr std::size_t kMappedPrefix = 12;

bool is_ipv4(Bytes const& address) {
  return std::equal(kMapped.begin(), kMapped.begin() + kMappedPrefix, address.begin());
}

/// IPv4 addresses in IPv6 form.
std::optional<Bytes> bytes_of(sockaddr_storage const& storage) {
  Bytes bytes{};
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof address);
    std::memcpy(bytes.data(), &address.sin6_addr, bytes.size());
    return bytes;
  }
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
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
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the socket calls want it
  bool const is_told = which(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) == 0;
  return is_told ? bytes_of(storage) : std::nullopt;
}

}  // namespace

Caller caller_of(int descriptor) {
  std::optional<Bytes> const there = ask(::getpeername, descriptor);
  if (!there) {
    return {};
  }
  bool const is_local = is_loopback(*there) || there == ask(::getsockname, descriptor);
  return {.address = text_of(*there), .is_local = is_local};
}

}  // namespace lastcall::probes
