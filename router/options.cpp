#include "router/options.hpp"

#include <algorithm>

#include "base/descriptor_limit.hpp"
#include "ingress/memory_limit.hpp"

namespace lastcall::router {
namespace {

/// Descriptors that are reserved for everything except clients and their connections to workers; at
/// most a quarter of a low limit is reserved.
constexpr std::uint64_t kKeptDescriptors = 256;
/// More than 10,000 clients hold with prompts of usual length. The third of the memory that is not
/// for buffers is for their overhead, for the kernel's memory for connections, and for the rest.
constexpr std::uint64_t kMostForBuffers = std::uint64_t{1} << 30U;

}  // namespace

std::size_t most_connections(Limits const& limits, std::uint64_t descriptors) {
  std::uint64_t const kept = std::min(kKeptDescriptors, descriptors / 4);
  return std::min<std::uint64_t>(limits.max_connections, (descriptors - kept) / 2);
}

std::size_t buffer_memory(Limits const& limits, std::optional<std::uint64_t> memory) {
  std::uint64_t const part =
      std::min(memory.value_or(kMostForBuffers * 2) / 3 * 2, kMostForBuffers);
  return limits.max_buffer_memory.value_or(part);
}

ingress::Options options_of(Settings const& settings) {
  ingress::Options options;
  options.waits = ingress::waits_of(settings.timeouts);
  options.max_head = settings.limits.max_header_size;
  options.max_body = settings.limits.max_body_size;
  options.max_connections = most_connections(settings.limits, descriptor_limit());
  options.max_buffer_memory = buffer_memory(settings.limits, ingress::memory_limit());
  return options;
}

}  // namespace lastcall::router
