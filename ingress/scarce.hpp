// The scarce resource when a connection is closed, or a request refused, to make room for others.
//
// Values only, no thread rule. Source: docs/ingress.md, 'Limits'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lastcall::ingress {

enum class Scarce : std::uint8_t {
  connections,  // ingress.max_connections, or the limit of open files
  address,      // ingress.max_connections_per_address
  memory,       // ingress.max_buffer_memory
};

/// The label of the metrics.
constexpr std::string_view name(Scarce what) {
  constexpr std::array<std::string_view, 3> kNames{"connections", "address", "memory"};
  return kNames[static_cast<std::size_t>(what)];
}

}  // namespace lastcall::ingress
