// A client's request, and how much of the answer the client has: the facts that both sides of a
// request work on.
//
// Thread rule: the router's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "relay/delivery.hpp"
#include "relay/exchange.hpp"
#include "relay/request_reader.hpp"
#include "router/continuation/fitting.hpp"
#include "router/fleet.hpp"
#include "router/metrics.hpp"
#include "router/request_body.hpp"
#include "router/route.hpp"
#include "router/worker_modes.hpp"

namespace lastcall::router {

struct Call {
  using Clock = std::chrono::steady_clock;

  std::string id;
  relay::Asked asked;
  Route route;
  RequestBody body;
  std::uint32_t place = 0;  // of its connection among all, in parts of 2^32
  Clock::time_point began_at = Clock::now();
  Clock::time_point last_event_at{};
  Wanted wanted{};
  WorkerModes modes{};
  std::optional<std::uint64_t> affinity{};  // key
  std::string content_type{};
  std::string head{};   // to the worker, without its length and its last line
  std::string model{};  // label of metrics: one that a worker has announced, or empty
  relay::Delivery delivery{};
  relay::After after = relay::After::keep;
  std::uint64_t events = 0;                  // that its client has, of an answer that is recorded
  std::optional<continuation::Pace> pace{};  // of the present leg, since its first text
  bool forbids_migration = false;
  bool is_queued = false;          // nothing of its answer is there
  std::optional<Moving> moving{};  // it is to go on elsewhere, and no worker has taken it up yet
  std::string_view error_type{};   // Dynamo's word; empty: it succeeded

  /// The head of one leg, without its length and its last line. `is_recorded`: its worker may hint
  /// that it drains; `goes_on`: before new requests.
  std::string head_of_leg(std::string_view suffix, bool is_recorded, bool goes_on) const {
    std::string of_leg = head;
    of_leg.append("X-Request-Id: ").append(id).append(suffix).append("\r\n");
    of_leg.append(is_recorded ? "X-Lastcall-Router: 1\r\n" : "");
    // A worker's queue may be long, and its client has waited.
    return of_leg.append(goes_on ? "Priority: u=0\r\n" : "");
  }
  Fleet::Wanted to_choose() const { return {.model = wanted.model, .affinity = affinity}; }
  /// A worker that can take the answer up. `known` must live as long as what is returned.
  Fleet::Wanted to_go_on(continuation::Known const& known) const {
    Fleet::Wanted which = to_choose();
    which.fit = [this, known](Worker const& worker) { return modes.fit(known, worker); };
    return which;
  }
  bool has_sent_nothing() const { return delivery.state() == relay::DeliveryState::nothing; }
};

}  // namespace lastcall::router
