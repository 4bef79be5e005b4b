#include "ingress/options.hpp"

#include <algorithm>

#include "config/schema.hpp"

namespace lastcall::ingress {

Deadlines::Lengths waits_of(config::ProxyTimeouts const& timeouts) {
  using namespace std::chrono_literals;
  Deadlines::Lengths waits;
  auto const set = [&](Wait wait, std::optional<std::chrono::milliseconds> length) {
    waits[static_cast<std::size_t>(wait)] = length;
  };
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
  set(Wait::ending, 2s);
  set(Wait::linger, 2s);
  set(Wait::turned_away, 2s);
  set(Wait::upstream_idle, timeouts.upstream_keep_alive);
  return waits;
}

relay::EndpointName Options::endpoint(std::string_view method, std::string_view target,
                                      bool upgrade, bool is_control) const {
  relay::EndpointName found = relay::endpoint_of(method, target, upgrade);
  found.counts = found.counts && !(is_control && found.name == relay::kOtherEndpoint);
  std::string_view const path = relay::path_of(target);
  for (NamedEndpoint const& named : endpoints) {
    if (named.name == path) {
      found.name = named.name;
      found.counts = true;
      return found;
    }
  }
  return found;
}

bool Options::defers_cancel(std::string_view endpoint) const {
  return std::any_of(endpoints.begin(), endpoints.end(), [&](NamedEndpoint const& named) {
    return named.defers_cancel && named.name == endpoint;
  });
}

}  // namespace lastcall::ingress
