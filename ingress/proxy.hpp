// Relays: the clients that were given to it, and the pool of connections to the engine.
//
// Invariants:
//  1. Clients are served in the order of their requests, one at a time a connection.
//  2. An id is that of one live request, of all proxies: a second one gets a suffix.
//  3. The tracker has heard of a request's end before its id is free again.
//  4. Nothing of a stream waits here but what the client's socket did not take yet.
//
// Thread rule: the thread of its loop. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingress/deadlines.hpp"
#include "ingress/listener.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/options.hpp"
#include "ingress/poller.hpp"
#include "ingress/request_id.hpp"
#include "ingress/tracker.hpp"
#include "relay/control_paths.hpp"
#include "relay/endpoint_name.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

class Client;
class Upstream;

struct Request {
  std::string id;
  std::uint64_t serial = 0;  // of Begun
};

/// What a proxy shares with others that relay for the same tracker.
class SharedIds {
 public:
  SharedIds() = default;
  SharedIds(SharedIds const&) = delete;
  SharedIds& operator=(SharedIds const&) = delete;
  virtual ~SharedIds() = default;

  /// As LiveIds.
  virtual std::string claim(std::string_view wanted, bool keep) = 0;
  virtual void release(std::string_view id) = 0;
};

class Proxy {
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
  void close_over(std::chrono::milliseconds over);
  void keep_alive_again();
  /// Of connections without a request, a moment later: one that is on its way is still answered.
  /// Those with one close after it.
  void part();
  void part_now();
  bool is_parting() const { return is_parting_; }
  /// Every check of the engine has passed that began then or later.
  void check_passed(std::chrono::milliseconds since);

  /// Of the request that has this id now; 0: there is none that asked for its place.
  std::uint64_t serial_of(std::string_view id) const;
  // What the core decides about a request that counts; one that has ended meanwhile is left alone.
  void admitted(Request const& request);
  void rejected(Request const& request, relay::Refusal const& refusal);
  /// Ends it as `refusal` says; `at_once` does not wait for a client that is slow to read.
  void cut(Request const& request, relay::Refusal const& refusal, bool at_once);

  /// Nothing waits to be written to a client.
  bool is_flushed() const;

 private:
  friend class Client;
  friend class Upstream;

  void for_each_client(std::function<void(Client&)> const& visit);

  // Of clients.
  void ended(Client& client);
  /// From the pool, unless it has to be a fresh one; nothing when there is none to be had.
  Upstream* acquire(bool fresh);
  /// Nobody answers at this address of the engine's: the next connection tries the one after it. An
  /// engine that listens with IPv4 only is not at the first address of `localhost`.
  void avoid_address(std::size_t address);
  std::size_t address() const { return address_; }
  /// `keep`: until leave() or let_go().
  std::string unique_id(std::string_view wanted, bool keep);
  void enter(std::string_view id, Client& client) { by_id_.emplace(id, &client); }
  /// The client whose request it still is; nothing when it has ended.
  Client* find(Request const& request) const;
  std::uint64_t next_serial() { return ++last_serial_; }
  /// `model`, unless it was the one before it, too.
  std::string_view served_anew(std::string const& model) {
    return model == last_served_ ? std::string_view() : last_served_ = model;
  }
  void leave(std::string_view id);
  /// Its id is taken until the engine has let go of it, though nobody can be told of it.
  void left_to_engine(std::string_view id, Upstream& upstream);
  void let_go(std::string_view id);
  bool defers_cancel(std::string_view endpoint) const;
  /// `place`: of a connection among all, in parts of 2^32.
  bool is_closing(std::uint32_t place) const;
  relay::ControlPaths const& control_paths() const { return control_paths_; }
  /// Its name by the configuration's paths, else by the known ones. `is_control`: of its path.
  relay::EndpointName endpoint(std::string_view method, std::string_view target, bool upgrade,
                               bool is_control) const;

  // Room, see proxy_room.cpp.
  class Shedder;
  std::unique_ptr<Watched> make_shedder();
  /// For a newcomer: closes the connection that has been without a request for longest; false when
  /// there is none but its own.
  bool evict_idle(Client& newcomer, Scarce what);
  Client* heaviest();
  /// Closes connections until what is left fits into the budget.
  void shed();
  void weighed() {
    if (memory_.is_exceeded()) {
      shed_soon();
    }
  }
  void shed_soon();

  // Of upstream connections.
  void pool(Upstream& upstream);
  void closed(Upstream& upstream);

  Poller& poller() { return poller_; }
  Deadlines& deadlines() { return deadlines_; }
  Tracker& tracker() { return tracker_; }
  Options const& options() const { return options_; }
  MemoryBudget& memory() { return memory_; }
  std::span<char> scratch() { return scratch_; }
  /// What comes behind a request is kept: less of it while memory is scarce.
  std::span<char> scratch_for_clients();
  std::string& wire() { return wire_; }
  std::size_t& waiting_bytes() { return waiting_bytes_; }
  void tell_connections();

  Options const options_;
  relay::ControlPaths const control_paths_;
  Tracker& tracker_;
  MemoryBudget& memory_;
  Owner const owner_;
  Poller poller_;
  std::unique_ptr<Watched> shedder_;
  bool shed_is_due_ = false;
  std::size_t looked_at_ = 0;  // of the table of clients, in search of the heaviest
  Deadlines deadlines_;
  RequestIds ids_;
  std::vector<char> scratch_;      // what was read last; nothing in it outlives its handling
  std::string wire_;               // what is written next; the same
  std::size_t waiting_bytes_ = 0;  // of bodies whose requests have no place yet
  std::unordered_map<Client*, std::unique_ptr<Client>> clients_;
  std::unordered_map<Upstream*, std::unique_ptr<Upstream>> upstreams_;
  std::vector<Upstream*> pool_;
  std::size_t address_ = 0;  // of the engine's, where it was last
  std::unordered_map<std::string_view, Client*> by_id_;
  std::unordered_map<std::string_view, Upstream*> left_;  // those without a client
  struct Closing {
    std::chrono::milliseconds since{};
    std::chrono::milliseconds over{};
  };
  std::optional<Closing> closing_;
  bool is_parting_ = false;
  std::uint64_t last_serial_ = 0;
  std::string last_served_;  // model
};

}  // namespace lastcall::ingress
