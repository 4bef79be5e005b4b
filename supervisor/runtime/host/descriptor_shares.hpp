// Divides the limit of open files among the peers that connect to the supervisor.
//
// Rules:
//  1. Each connection of a socket costs two descriptors: its own, and either the pidfd of its
//     process or the connection to the engine.
//  2. The descriptors that the supervisor needs for itself are reserved: for its listeners and
//     logs, for the probe port, and above all for the checks of whether the engine is alive.
//  3. If the limit is too low for all shares, clients of the ingress get half of it.
//
// Source: getrlimit(2); docs/ingress.md, 'Limits'.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lastcall::runtime {

struct DescriptorShares {
  std::size_t sessions = 0;   // connections of the engine socket
  std::size_t operators = 0;  // connections of the admin socket
  std::size_t clients = 0;    // connections of the ingress
  /// The lowest limit at which only the ingress's share is cut.
  std::uint64_t wanted = 0;
};

/// `threads` is the number of threads of the ingress.
DescriptorShares descriptor_shares(std::uint64_t limit, std::uint32_t threads);

}  // namespace lastcall::runtime
