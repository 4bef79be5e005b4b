// The number of a connection from an SDK, a shim or an operator.
#pragma once

#include <cstdint>

namespace lastcall {

/// A supervisor never uses a number twice: a peer that reconnects gets a new one.
using PeerId = std::uint64_t;

}  // namespace lastcall
