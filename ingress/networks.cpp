#include "ingress/networks.hpp"

#include <algorithm>
#include <cstddef>

#include <arpa/inet.h>

namespace lastcall::ingress {
namespace {

constexpr unsigned kBitsOfAByte = 8;

bool begin_alike(std::array<std::uint8_t, 16> const& a, std::array<std::uint8_t, 16> const& b,
                 unsigned bits) {
  std::size_t const whole = bits / kBitsOfAByte;
  if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), b.begin())) {
    return false;
  }
  unsigned const unlike = kBitsOfAByte - bits % kBitsOfAByte;
  return unlike == kBitsOfAByte || (a[whole] ^ b[whole]) >> unlike == 0;
}

}  // namespace

bool Networks::contain(std::string const& address) const {
  std::array<std::uint8_t, 16> bytes{};
  bool const is_v6 = address.find(':') != std::string::npos;
  if (::inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(), bytes.data()) != 1) {
    return false;
  }
  return std::any_of(networks_.begin(), networks_.end(), [&](Network const& network) {
    return network.is_v6 == is_v6 && begin_alike(bytes, network.address, network.bits);
  });
}

}  // namespace lastcall::ingress
