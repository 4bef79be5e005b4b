// Derives the front's options from the router's configuration.
//
// Thread rule: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ingress/options.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

/// How many clients a limit of open files has room for, at most what is configured: each costs two
/// descriptors, and a part is kept for everything else. Source: docs/router.md, `limits`.
std::size_t most_connections(Limits const& limits, std::uint64_t descriptors);

ingress::Options options_of(Settings const& settings);

}  // namespace lastcall::router
