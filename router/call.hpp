// A client's request, and how much of the answer the client has: the facts that both sides of a
// request share.
//
// Thread rule: the router's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/delivery.hpp"
#include "relay/exchange.hpp"
#include "relay/request_reader.hpp"
#include "router/continuation/fitting.hpp"
#include "router/fleet.hpp"
#include "router/leg_head.hpp"
#include "router/metrics.hpp"
#include "router/request_body.hpp"
#include "router/route.hpp"
#include "router/worker_modes.hpp"

namespace lastcall::router {

struct Call {
  using Clock = std::chrono::steady_clock;

  LegHead head;
  relay::Asked asked;
  RouteKind route;
  RequestBody body;
  std::uint32_t place = 0;  // of its connection among all, in parts of 2^32
  Clock::time_point began_at = Clock::now();
  Clock::time_point last_event_at{};
  Wanted wanted{};  // the model is that of the path until the body is complete
  WorkerModes modes{};
  bool is_announced = false;                // a worker has named its model
  std::optional<std::uint64_t> affinity{};  // key
  std::unique_ptr<std::string> form{};      // type of a form's body, until it is complete
  relay::Delivery delivery{};
  relay::After after = relay::After::keep;
  std::uint64_t events = 0;                  // those of a recorded answer that the client has
  std::optional<continuation::Pace> pace{};  // of the present leg, since its first text
  bool forbids_migration = false;
  bool is_queued = false;          // nothing of its answer has come
  std::optional<Moving> moving{};  // it has to continue elsewhere, and no worker has it yet
  std::string_view error_type{};   // Dynamo's word; empty if it succeeded

  std::string_view id() const { return head.id(); }
  /// Label of metrics: one that a worker has announced, or empty.
  std::string_view label() const { return is_announced ? wanted.model : std::string_view(); }
  Fleet::Wanted to_choose() const { return {.model = wanted.model, .affinity = affinity}; }
  /// Describes a worker that can continue the answer. `known` must outlive what is returned.
  Fleet::Wanted to_go_on(continuation::Known const& known) const {
    Fleet::Wanted which = to_choose();
    which.fit = [this, known](Worker const& worker) { return modes.fit(known, worker); };
    return which;
  }
  bool has_sent_nothing() const { return delivery.state() == relay::DeliveryState::nothing; }
};

}  // namespace lastcall::router
