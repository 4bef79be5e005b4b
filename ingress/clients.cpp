#include "ingress/clients.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lastcall::ingress {

Clients::Clients(ClientParts& parts, std::function<void()> client_left)
    : parts_(parts), client_left_(std::move(client_left)), shedder_(make_shedder()) {}

void Clients::part() {
  parts_.departure.part();
  for_each_client([](Client& client) { client.part_soon(); });
}

void Clients::part_now() {
  parts_.departure.part();
  for_each_client([](Client& client) { client.part_now(); });
}

void Clients::check_passed(std::chrono::milliseconds since) {
  for_each_client([since](Client& client) { client.check_passed(since); });
}

/// `visit` may end its client, and no other.
void Clients::for_each_client(std::function<void(Client&)> const& visit) {
  std::vector<Client*> all;
  all.reserve(clients_.size());
  for (auto const& client : clients_) {
    all.push_back(client.get());
  }
  for (Client* const client : all) {
    visit(*client);
  }
}

void Clients::adopt(Accepted accepted) {
  int const descriptor = accepted.socket.get();
  bool const is_too_many = accepted.is_too_many;
  ClientOwner& us = *this;
  auto owner = std::make_unique<Client>(parts_, us, std::move(accepted));
  Client& client = *owner;
  bool const is_watched = parts_.poller.add(descriptor, client);
  clients_.add(std::move(owner));
  parts_.counts.clients(clients_.size());
  if (!is_watched) {
    client.close();
  } else if (is_too_many && !evict_idle(client, Scarce::connections)) {
    parts_.observer.shed(Scarce::connections);
    client.refuse(relay::too_many_connections(), Wait::turned_away);
  } else if (parts_.memory.is_tight() && !evict_idle(client, Scarce::memory) &&
             parts_.memory.is_exceeded()) {
    parts_.observer.shed(Scarce::memory);
    client.refuse(relay::no_memory(), Wait::turned_away);
  } else if (parts_.departure.is_parting()) {
    client.part_soon();
  }
}

void Clients::closed(Client& client) {
  parts_.poller.bury(clients_.take_out(client));
  client_left_();
  parts_.counts.clients(clients_.size());
}

bool Clients::is_flushed() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](auto const& client) { return client->is_flushed(); });
}

}  // namespace lastcall::ingress
