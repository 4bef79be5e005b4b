// The number of a connection of an SDK, a shim or an operator.
#pragma once

#include <cstdint>

namespace lastcall {

/// Never used twice by one supervisor: a peer that reconnects is a new one.
using PeerId = std::uint64_t;

}  // namespace lastcall
