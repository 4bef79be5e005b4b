// Networks, and whether an address is in one of them.
//
// Rules:
//  1. An IPv4 address is only in networks of IPv4, however wide one of IPv6 is.
//  2. A text that is not an address is in no network.
//
// Pure, no thread rule. Source: RFC 4632, section 3.1; RFC 4291, section 2.3.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lastcall::ingress {

/// A network: the addresses that have the first `bits` in common.
struct Network {
  std::array<std::uint8_t, 16> address{};  // IPv4 uses the first 4 bytes
  bool is_v6 = false;
  unsigned bits = 0;
};

class Networks {
 public:
  Networks() = default;
  explicit Networks(std::vector<Network> networks) : networks_(std::move(networks)) {}

  /// `address` is a text, IPv6 without brackets.
  bool contain(std::string const& address) const;

 private:
  std::vector<Network> networks_;
};

}  // namespace lastcall::ingress
