// Derives the front's options from the router's configuration.
//
// Thread rule: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ingress/options.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

/// The number of clients for which the limit of open files has room, but at most the configured
/// number: each client costs two descriptors, and some are reserved for everything else.
/// Source: docs/router.md, `limits`.
std::size_t most_connections(Limits const& limits, std::uint64_t descriptors);

/// The bytes that buffers may hold, given the memory limit of the process's cgroup.
/// Source: docs/router-config.md, `limits.max_buffer_memory`.
std::size_t buffer_memory(Limits const& limits, std::optional<std::uint64_t> memory);

ingress::Options options_of(Settings const& settings);

}  // namespace lastcall::router
