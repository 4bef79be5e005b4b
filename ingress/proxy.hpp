// Relays requests: it has clients and a pool of connections to the engine.
//
// Invariants:
//  1. The invariants of the clients hold (clients.hpp).
//  2. The tracker has received a request's end before its id is free again.
//
// Thread rule: the thread of its loop. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingress/client_request.hpp"
#include "ingress/clients.hpp"
#include "ingress/delivered.hpp"
#include "ingress/listener.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/options.hpp"
#include "ingress/proxy_parts.hpp"
#include "ingress/tracker.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

class Proxy final : private RequestMaker {
 public:
  struct Owner {
    std::function<void()> client_left;
    SharedIds* ids = nullptr;  // absent if there is no other proxy
    std::uint64_t first_serial = 0;
  };

  /// `memory` outlives it.
  Proxy(boost::asio::io_context& io, Options options, Tracker& tracker, MemoryBudget& memory,
        Owner owner);
  ~Proxy();
  Proxy(Proxy const&) = delete;
  Proxy& operator=(Proxy const&) = delete;

  void adopt(Accepted accepted) { clients_.adopt(std::move(accepted)); }
  /// Responses carry `Connection: close`: after `over` on every connection, and until then on a
  /// share of the connections that grows evenly, so that clients do not all reconnect at once. A
  /// second call may move the end closer.
  void close_over(std::chrono::milliseconds over) { parts_.departure.close_over(over); }
  void keep_alive_again() {
    parts_.departure.call_off();
    parts_.cut_at.reset();
  }
  /// The core refuses new requests.
  void refuse() { parts_.departure.refuse(); }
  // Like the functions of Clients.
  void part() { clients_.part(); }
  void part_now() { clients_.part_now(); }
  void check_passed(std::chrono::milliseconds since) { clients_.check_passed(since); }
  /// Whether nothing waits to be written to a client, and no request waits for the core's decision.
  bool is_flushed() const;

  /// The serial of the request that has this id now; 0 if there is none that asked for its place.
  std::uint64_t serial_of(std::string_view id) const { return parts_.requests.serial_of(id); }
  Deliveries deliveries(std::vector<std::string> const& ids) const;
  // The core's decision about a request that counts; a request that has ended meanwhile is not
  // affected.
  void admitted(Request const& request);
  void rejected(Request const& request, relay::Refusal const& refusal);
  /// Ends the request with `refusal`; `at_once` does not wait for a client that is slow to read.
  void cut(Request const& request, relay::Refusal const& refusal, bool at_once);
  /// Notifies clients that are routers of the time at which their streams will be cut; a stream
  /// that has not begun is notified when it begins.
  void notify_of_cut(std::chrono::milliseconds at);

 private:
  // RequestMaker
  std::unique_ptr<ClientRequest> make(RequestClient const& client, relay::TakenHead const& taken,
                                      bool is_closed, bool is_control) override;

  ProxyParts parts_;
  Clients clients_;
};

}  // namespace lastcall::ingress
