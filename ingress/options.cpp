#include "ingress/options.hpp"

#include <algorithm>

namespace lastcall::ingress {

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
