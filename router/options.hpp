// Derives the front's options from the router's configuration.
//
// Thread rule: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ingress/options.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

/// The number of clients for which the limit of open files has room, but at most the configured
/// number: each client costs two descriptors, and some are reserved for everything else.
/// Source: docs/router.md, `limits`.
std::size_t most_connections(Limits const& limits, std::uint64_t descriptors);

ingress::Options options_of(Settings const& settings);

}  // namespace lastcall::router
