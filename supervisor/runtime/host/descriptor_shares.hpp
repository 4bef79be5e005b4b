// How the limit of open files is shared between those who connect to the supervisor.
//
// Rules:
//  1. Each connection of a socket costs two descriptors: its own, and the pidfd of its process or
//     the connection to the engine.
//  2. What the supervisor needs for itself is nobody else's: its listeners and logs, the probe
//     port, and above all the checks, which ask whether the engine lives.
//  3. Where the limit is too low for everybody, clients of the ingress get half of it.
//
// Source: getrlimit(2); docs/ingress.md, 'Limits'.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lastcall::runtime {

struct DescriptorShares {
  std::size_t sessions = 0;   // connections of the engine socket
  std::size_t operators = 0;  // and of the admin socket
  std::size_t clients = 0;    // of the ingress
  /// The lowest limit with which no share is cut, but for the ingress's.
  std::uint64_t wanted = 0;
};

/// `threads`: of the ingress.
DescriptorShares descriptor_shares(std::uint64_t limit, std::uint32_t threads);

}  // namespace lastcall::runtime
