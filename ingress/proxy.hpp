// Relays: the clients that were given to it, and the pool of connections to the engine.
//
// Invariants:
//  1. Clients are served in the order of their requests, one at a time a connection.
//  2. The tracker has heard of a request's end before its id is free again.
//  3. Nothing of a stream waits here but what the client's socket did not take yet.
//
// Thread rule: the thread of its loop. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "ingress/client.hpp"
#include "ingress/listener.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/options.hpp"
#include "ingress/poller.hpp"
#include "ingress/proxy_parts.hpp"
#include "ingress/scarce.hpp"
#include "ingress/tracker.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

class Proxy final : private ClientOwner {
 public:
  struct Owner {
    std::function<void()> client_left;
    SharedIds* ids = nullptr;  // nothing: there is no other proxy
    std::uint64_t first_serial = 0;
  };

  /// `memory` outlives it.
  Proxy(boost::asio::io_context& io, Options options, Tracker& tracker, MemoryBudget& memory,
        Owner owner);
  ~Proxy();
  Proxy(Proxy const&) = delete;
  Proxy& operator=(Proxy const&) = delete;

  void adopt(Accepted accepted);
  /// Responses say `Connection: close`: after `over` those of every connection, until then of a
  /// part that grows evenly, so that their clients do not all connect anew at once. Called again,
  /// the end may come nearer.
  void close_over(std::chrono::milliseconds over) { parts_.departure.close_over(over); }
  void keep_alive_again() { parts_.departure.call_off(); }
  /// Closes connections without a request, a moment later, so that one that is on its way is still
  /// answered. Connections with a request close after it.
  void part();
  void part_now();
  /// Every check of the engine has passed that began then or later.
  void check_passed(std::chrono::milliseconds since);

  /// Of the request that has this id now; 0: there is none that asked for its place.
  std::uint64_t serial_of(std::string_view id) const { return parts_.requests.serial_of(id); }
  // What the core decides about a request that counts; one that has ended meanwhile is left alone.
  void admitted(Request const& request);
  void rejected(Request const& request, relay::Refusal const& refusal);
  /// Ends it as `refusal` says; `at_once` does not wait for a client that is slow to read.
  void cut(Request const& request, relay::Refusal const& refusal, bool at_once);

  /// Nothing waits to be written to a client.
  bool is_flushed() const;

 private:
  class Shedder;

  // ClientOwner
  void closed(Client& client) override;
  void shed_soon() override;

  void for_each_client(std::function<void(Client&)> const& visit);

  // Room, see proxy_room.cpp.
  std::unique_ptr<Watched> make_shedder();
  /// For a newcomer: closes the connection that has been without a request for longest; false when
  /// there is none but its own.
  bool evict_idle(Client& newcomer, Scarce what);
  Client* heaviest();
  /// Closes connections until what is left fits into the budget.
  void shed();

  std::function<void()> const client_left_;
  ProxyParts parts_;
  std::unordered_map<Client*, std::unique_ptr<Client>> clients_;
  std::unique_ptr<Watched> shedder_;
  bool shed_is_due_ = false;
  std::size_t looked_at_ = 0;  // of the table of clients, in search of the heaviest
};

}  // namespace lastcall::ingress
