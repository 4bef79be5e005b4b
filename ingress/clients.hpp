// The clients of one thread, and how some of them make room for others.
//
// Invariants:
//  1. Clients are served in the order of their requests, one at a time per connection.
//  2. The only bytes of a stream that wait here are those that the client's socket has not accepted
//     yet.
//
// Thread rule: the thread of its loop. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "ingress/client.hpp"
#include "ingress/client_parts.hpp"
#include "ingress/listener.hpp"
#include "ingress/poller.hpp"
#include "ingress/scarce.hpp"
#include "ingress/seats.hpp"

namespace lastcall::ingress {

class Clients final : private ClientOwner {
 public:
  /// `parts` outlives it.
  Clients(ClientParts& parts, std::function<void()> client_left);
  ~Clients();
  Clients(Clients const&) = delete;
  Clients& operator=(Clients const&) = delete;

  void adopt(Accepted accepted);
  /// Closes connections without a request a moment later, so that a request that is on its way is
  /// still answered. A connection with a request closes after that request.
  void part();
  void part_now();
  /// Every check of the engine that began at `since` or later has passed.
  void check_passed(std::chrono::milliseconds since);

  /// Whether nothing waits to be written to a client.
  bool is_flushed() const;
  std::size_t size() const { return clients_.size(); }

 private:
  class Shedder;

  // ClientOwner
  void closed(Client& client) override;
  void shed_soon() override;

  void for_each_client(std::function<void(Client&)> const& visit);

  // Makes room, see clients_room.cpp.
  std::unique_ptr<Watched> make_shedder();
  /// Closes the connection that has been idle for longest, to make room for a newcomer. Returns
  /// false if there is none except its own.
  bool evict_idle(Client& newcomer, Scarce what);
  Client* heaviest();
  /// Closes connections until the others fit into the budget.
  void shed();

  ClientParts& parts_;
  std::function<void()> const client_left_;
  Seats<Client> clients_;
  std::unique_ptr<Watched> shedder_;
  bool shed_is_due_ = false;
  /// The seat at which the search for the heaviest continues.
  std::size_t looked_at_ = 0;
};

}  // namespace lastcall::ingress
