#include "sdk/cpp/endpoints.hpp"

#include <utility>

#include "sdk/cpp/clipped.hpp"
#include "sdk/cpp/request_ids.hpp"

namespace lastcall::sdk {

void Endpoints::set(ipc::EndpointRegister endpoint) {
  endpoint.endpoint = checked_id(std::move(endpoint.endpoint), "endpoint");
  endpoint.model = clipped(std::move(endpoint.model));
  lock_.locked([&](Later&) {
    auto& known = known_[endpoint.endpoint];
    if (!(known == endpoint)) {
      known = endpoint;
      outbox_.send(endpoint);
    }
  });
}

void Endpoints::drop(std::string const& name) {
  lock_.locked([&](Later&) {
    if (known_.erase(name) > 0) {
      outbox_.send(ipc::EndpointUnregister{name});
    }
  });
}

void Endpoints::announce() {
  for (auto const& [name, endpoint] : known_) {
    outbox_.send(endpoint);
  }
}

}  // namespace lastcall::sdk
