#include "ingress/proxy.hpp"

#include <utility>

#include "ingress/relayed_request.hpp"

namespace lastcall::ingress {

Proxy::Proxy(boost::asio::io_context& io, Options options, Tracker& tracker, MemoryBudget& memory,
             Owner owner)
    : parts_(io, std::move(options), tracker, memory, *this, owner.ids, owner.first_serial),
      clients_(parts_, std::move(owner.client_left)) {}

Proxy::~Proxy() = default;

std::unique_ptr<ClientRequest> Proxy::make(RequestClient const& client,
                                           relay::TakenHead const& taken, bool is_closed,
                                           bool is_control) {
  relay::EndpointName const endpoint =
      is_closed ? relay::EndpointName{}
                : parts_.options.endpoint(taken.head.method, taken.destination.target,
                                          taken.asked.is_upgrade, is_control);
  return std::make_unique<RelayedRequest>(parts_, client, taken, endpoint);
}

void Proxy::admitted(Request const& request) {
  if (RelayedRequest* const found = parts_.requests.find(request)) {
    found->admitted();
  }
}

void Proxy::rejected(Request const& request, relay::Refusal const& refusal) {
  if (RelayedRequest* const found = parts_.requests.find(request)) {
    found->rejected(refusal);
  }
}

bool Proxy::is_flushed() const {
  bool waits = false;
  parts_.requests.each([&waits](RelayedRequest& request) {
    waits = waits || request.counted().standing() == CountedRequest::Standing::waits;
  });
  return !waits && clients_.is_flushed();
}

Deliveries Proxy::deliveries(std::vector<std::string> const& ids) const {
  Deliveries found;
  found.reserve(ids.size());
  for (std::string const& id : ids) {
    RelayedRequest const* const request = parts_.requests.find(id);
    found.push_back(request != nullptr ? std::optional(request->counted().delivered())
                                       : std::nullopt);
  }
  return found;
}

void Proxy::notify_of_cut(std::chrono::milliseconds at) {
  parts_.cut_at = at;
  parts_.requests.each([](RelayedRequest& request) { request.notify_of_cut(); });
}

void Proxy::cut(Request const& request, relay::Refusal const& refusal, bool at_once) {
  if (RelayedRequest* const found = parts_.requests.find(request)) {
    found->cut(refusal, at_once);
  }
}

}  // namespace lastcall::ingress
