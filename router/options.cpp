#include "router/options.hpp"

#include <algorithm>

#include "base/descriptor_limit.hpp"

namespace lastcall::router {
namespace {

/// Descriptors that are reserved for everything except clients and their connections to workers; at
/// most a quarter of a low limit is reserved.
constexpr std::uint64_t kKeptDescriptors = 256;

}  // namespace

std::size_t most_connections(Limits const& limits, std::uint64_t descriptors) {
  std::uint64_t const kept = std::min(kKeptDescriptors, descriptors / 4);
  return std::min<std::uint64_t>(limits.max_connections, (descriptors - kept) / 2);
}

ingress::Options options_of(Settings const& settings) {
  ingress::Options options;
  options.waits = ingress::waits_of(settings.timeouts);
  options.max_head = settings.limits.max_header_size;
  options.max_body = settings.limits.max_body_size;
  options.max_connections = most_connections(settings.limits, descriptor_limit());
  options.max_buffer_memory = settings.limits.max_buffer_memory;
  return options;
}

}  // namespace lastcall::router
