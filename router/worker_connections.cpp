#include "router/worker_connections.hpp"

#include <optional>
#include <utility>

#include "config/text.hpp"
#include "ingress/client_parts.hpp"
#include "ingress/upstream.hpp"

namespace lastcall::router {

WorkerConnections::Pool::Pool(ingress::ClientParts& parts, std::vector<ingress::Endpoint> found)
    : addresses(std::move(found)), connections(parts, addresses) {}

WorkerConnections::WorkerConnections(ingress::ClientParts& parts) : parts_(parts) {}

WorkerConnections::~WorkerConnections() = default;

std::string WorkerConnections::open(Worker const& worker) {
  std::optional<config::Url> const url = config::parse_url(worker.url());
  if (!url || url->scheme != "http") {
    return "no URL of http";
  }
  std::vector<ingress::Endpoint> addresses;
  std::string problem = ingress::resolve(url->address.host, url->address.port, addresses);
  if (problem.empty()) {
    pools_.emplace(worker.id(), std::make_unique<Pool>(parts_, std::move(addresses)));
  }
  return problem;
}

void WorkerConnections::close(Worker const& worker) {
  auto const found = pools_.find(worker.id());
  if (found != pools_.end()) {
    found->second->connections.close_kept();
    swept(worker);
  }
}

ingress::Upstream* WorkerConnections::acquire(Worker const& worker, bool fresh) {
  auto const found = pools_.find(worker.id());
  return found == pools_.end() ? nullptr : found->second->connections.acquire(fresh);
}

void WorkerConnections::avoid(Worker const& worker, std::size_t address) {
  auto const found = pools_.find(worker.id());
  if (found != pools_.end()) {
    found->second->connections.avoid_address(address);
  }
}

void WorkerConnections::swept(Worker const& worker) {
  auto const found = pools_.find(worker.id());
  if (worker.has_left() && found != pools_.end() && found->second->connections.size() == 0) {
    parts_.poller.bury_unwatched(std::move(found->second));
    pools_.erase(found);
  }
}

}  // namespace lastcall::router
