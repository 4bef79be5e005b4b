#include "router/options.hpp"

#include <algorithm>
#include <optional>

#include "base/descriptor_limit.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;

/// Descriptors that are reserved for everything except clients and their connections to workers; at
/// most a quarter of a low limit is reserved.
constexpr std::uint64_t kKeptDescriptors = 256;

}  // namespace

std::size_t most_connections(Limits const& limits, std::uint64_t descriptors) {
  std::uint64_t const kept = std::min(kKeptDescriptors, descriptors / 4);
  return std::min<std::uint64_t>(limits.max_connections, (descriptors - kept) / 2);
}

ingress::Options options_of(Settings const& settings) {
  using ingress::Wait;
  ingress::Options options;
  auto const set = [&](Wait wait, std::optional<Duration> length) {
    options.waits[static_cast<std::size_t>(wait)] = length;
  };
  Timeouts const& timeouts = settings.timeouts;
  set(Wait::request, timeouts.client);
  set(Wait::body, timeouts.client);
  set(Wait::client, timeouts.client);
  set(Wait::keep_alive, timeouts.keep_alive);
  set(Wait::connect, timeouts.connect);
  set(Wait::connect_again, 20ms);
  set(Wait::first_byte, timeouts.first_byte);
  set(Wait::idle, timeouts.idle);
  set(Wait::total, timeouts.total);
  set(Wait::parting, 1s);
  set(Wait::linger, 2s);
  set(Wait::turned_away, 2s);
  set(Wait::upstream_idle, timeouts.upstream_keep_alive);
  options.max_head = settings.limits.max_header_size;
  options.max_body = settings.limits.max_body_size;
  options.max_connections = most_connections(settings.limits, descriptor_limit());
  options.max_buffer_memory = settings.limits.max_buffer_memory;
  return options;
}

}  // namespace lastcall::router
