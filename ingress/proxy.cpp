#include "ingress/proxy.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "ingress/client.hpp"
#include "ingress/upstream.hpp"

namespace lastcall::ingress {
namespace {

constexpr std::size_t kScratch = 64 * 1024;
constexpr std::size_t kMaxPool = 1024;

}  // namespace

Proxy::Proxy(boost::asio::io_context& io, Options options, Tracker& tracker, MemoryBudget& memory,
             Owner owner)
    : options_(std::move(options)),
      control_paths_(options_.control.paths),
      tracker_(tracker),
      memory_(memory),
      owner_(std::move(owner)),
      poller_(io),
      shedder_(make_shedder()),
      deadlines_(io, options_.waits),
      scratch_(kScratch),
      last_serial_(owner_.first_serial) {}

void Proxy::close_over(std::chrono::milliseconds over) {
  std::chrono::milliseconds const now = monotonic_now();
  if (!closing_) {
    closing_ = Closing{now, over};
  } else {
    closing_->over = std::min(closing_->over, now - closing_->since + over);
  }
}

void Proxy::keep_alive_again() {
  closing_.reset();
  is_parting_ = false;
}

bool Proxy::is_closing(std::uint32_t place) const {
  constexpr unsigned kPlaceBits = 32;
  if (!closing_) {
    return false;
  }
  auto const over = static_cast<std::uint64_t>(closing_->over.count());
  std::chrono::milliseconds const turn((over * place) >> kPlaceBits);
  return monotonic_now() - closing_->since >= turn;
}

void Proxy::part() {
  is_parting_ = true;
  for_each_client([](Client& client) { client.part_soon(); });
}

void Proxy::part_now() {
  is_parting_ = true;
  for_each_client([](Client& client) { client.part_if_idle(); });
}

void Proxy::check_passed(std::chrono::milliseconds since) {
  for_each_client([since](Client& client) { client.check_passed(since); });
}

/// `visit` may end its client, and no other.
void Proxy::for_each_client(std::function<void(Client&)> const& visit) {
  std::vector<Client*> all;
  all.reserve(clients_.size());
  for (auto const& [client, owner] : clients_) {
    all.push_back(client);
  }
  for (Client* const client : all) {
    visit(*client);
  }
}

// --- clients -------------------------------------------------------------------------------------

void Proxy::adopt(Accepted accepted) {
  int const descriptor = accepted.socket.get();
  bool const is_too_many = accepted.is_too_many;
  auto owner = std::make_unique<Client>(*this, std::move(accepted));
  Client& client = *owner;
  bool const is_watched = poller_.add(descriptor, client);
  clients_.emplace(&client, std::move(owner));
  tell_connections();
  if (!is_watched) {
    client.close();
  } else if (is_too_many && !evict_idle(client, Scarce::connections)) {
    tracker_.shed(Scarce::connections);
    client.refuse_connection(relay::too_many_connections());
  } else if (memory_.is_tight() && !evict_idle(client, Scarce::memory) && memory_.is_exceeded()) {
    tracker_.shed(Scarce::memory);
    client.refuse_connection(relay::no_memory());
  } else if (is_parting_) {
    client.part_soon();
  }
}

void Proxy::ended(Client& client) {
  auto const found = clients_.find(&client);
  poller_.bury(std::move(found->second));
  clients_.erase(found);
  owner_.client_left();
  tell_connections();
}

std::string Proxy::unique_id(std::string_view wanted, bool keep) {
  bool const is_usable = is_usable_id(wanted);
  if (owner_.ids != nullptr) {
    return owner_.ids->claim(is_usable ? wanted : ids_.make(), keep);
  }
  if (!is_usable) {
    return ids_.make();
  }
  return id_apart(wanted, ids_, [this](std::string_view id) {
    return by_id_.contains(id) || left_.contains(id);
  });
}

void Proxy::leave(std::string_view id) {
  by_id_.erase(id);
  if (owner_.ids != nullptr) {
    owner_.ids->release(id);
  }
}

void Proxy::left_to_engine(std::string_view id, Upstream& upstream) {
  by_id_.erase(id);
  left_.emplace(id, &upstream);
}

void Proxy::let_go(std::string_view id) {
  left_.erase(id);
  if (owner_.ids != nullptr) {
    owner_.ids->release(id);
  }
}

relay::EndpointName Proxy::endpoint(std::string_view method, std::string_view target, bool upgrade,
                                    bool is_control) const {
  relay::EndpointName found = relay::endpoint_of(method, target, upgrade);
  found.counts = found.counts && !(is_control && found.name == relay::kOtherEndpoint);
  std::string_view const path = relay::path_of(target);
  for (NamedEndpoint const& named : options_.endpoints) {
    if (named.name == path) {
      found.name = named.name;
      found.counts = true;
      return found;
    }
  }
  return found;
}

bool Proxy::defers_cancel(std::string_view endpoint) const {
  return std::any_of(
      options_.endpoints.begin(), options_.endpoints.end(),
      [&](NamedEndpoint const& named) { return named.defers_cancel && named.name == endpoint; });
}

std::uint64_t Proxy::serial_of(std::string_view id) const {
  if (auto const found = by_id_.find(id); found != by_id_.end()) {
    return found->second->serial();
  }
  auto const left = left_.find(id);
  return left == left_.end() ? 0 : left->second->serial();
}

Client* Proxy::find(Request const& request) const {
  auto const found = by_id_.find(request.id);
  bool const is_it = found != by_id_.end() && found->second->serial() == request.serial;
  return is_it ? found->second : nullptr;
}

void Proxy::admitted(Request const& request) {
  if (Client* const client = find(request)) {
    client->admitted();
  }
}

void Proxy::rejected(Request const& request, relay::Refusal const& refusal) {
  if (Client* const client = find(request)) {
    client->rejected(refusal);
  }
}

void Proxy::cut(Request const& request, relay::Refusal const& refusal, bool at_once) {
  if (Client* const client = find(request)) {
    client->cut(refusal, at_once);
    return;
  }
  auto const left = left_.find(request.id);
  // That its client has gone is why it is cancelled already: only more than that ends it.
  if (at_once && left != left_.end() && left->second->serial() == request.serial) {
    left->second->let_go();
  }
}

bool Proxy::is_flushed() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](auto const& entry) { return entry.first->is_flushed(); });
}

// --- the engine ----------------------------------------------------------------------------------

Upstream* Proxy::acquire(bool fresh) {
  while (!fresh && !pool_.empty()) {
    Upstream* const warm = pool_.back();  // the one used last: the others may age and go
    pool_.pop_back();
    if (is_quiet(warm->socket_)) {
      warm->deadline_.disarm();
      return warm;
    }
    warm->close();
  }
  auto owner = std::make_unique<Upstream>(*this, address_);
  if (!owner->connect()) {
    return nullptr;
  }
  Upstream* const made = owner.get();
  upstreams_.emplace(made, std::move(owner));
  tell_connections();
  return made;
}

void Proxy::avoid_address(std::size_t address) {
  if (address == address_) {  // else another request has found that out
    address_ = (address_ + 1) % options_.upstream.size();
  }
}

void Proxy::pool(Upstream& upstream) {
  if (pool_.size() >= kMaxPool) {
    upstream.close();
  } else {
    pool_.push_back(&upstream);
  }
}

void Proxy::closed(Upstream& upstream) {
  std::erase(pool_, &upstream);
  auto const found = upstreams_.find(&upstream);
  poller_.bury(std::move(found->second));
  upstreams_.erase(found);
  tell_connections();
}

void Proxy::tell_connections() {
  tracker_.connections(clients_.size(), upstreams_.size());
}

}  // namespace lastcall::ingress
