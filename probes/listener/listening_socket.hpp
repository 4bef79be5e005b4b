// Opens the listening socket of a listener.
//
// Rules:
//  1. "::" means every address of both families; if the kernel has no IPv6 it means 0.0.0.0.
//  2. It uses SO_REUSEADDR, never SO_REUSEPORT: a port that another process holds must be an error,
//     and not shared at random between two listeners.
//
// Thread rule: none. Source: ip(7), ipv6(7), socket(7).
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"

namespace lastcall::probes {

struct ListeningSocket {
  Descriptor descriptor;
  std::string host;  // the address that it is bound to, perhaps the fallback
  std::uint16_t port = 0;
  std::string error;  // if not empty, there is no descriptor
};

ListeningSocket open_listening_socket(std::string const& host, std::uint16_t port);

}  // namespace lastcall::probes
