// An address and a port as one text.
//
// Pure, no thread rule. Source: RFC 3986, 3.2.2.
#pragma once

#include <cstdint>
#include <string>

namespace lastcall {

/// "127.0.0.1:80", "[::1]:80".
inline std::string address_text(std::string const& host, std::uint16_t port) {
  bool const is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace lastcall
