// A client's request, and how much of the answer the client has: the facts that both sides of a
// request share.
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
#include "router/errors.hpp"
#include "router/fleet.hpp"
#include "router/leg_head.hpp"
#include "router/metrics.hpp"
#include "router/request_body.hpp"
#include "router/route.hpp"
#include "router/worker_modes.hpp"

namespace lastcall::router {

struct Parts;

/// How far a request is, as it is counted.
enum class Standing : std::uint8_t { arriving, counted, over };

struct Call {
  using Clock = std::chrono::steady_clock;

  Parts& parts;
  LegHead head;
  RequestBody body;
  Clock::time_point began_at = Clock::now();
  Clock::time_point last_event_at{};
  Wanted wanted{};  // the model is that of the path until the body is complete
  std::uint64_t affinity_key = 0;
  relay::Delivery delivery{};
  continuation::Pace pace{};  // of the leg that had text last, since its first
  RouteKind route{};
  std::uint32_t place = 0;  // of its connection among all, in parts of 2^32
  relay::Asked asked{};
  WorkerModes modes{};
  relay::After after = relay::After::keep;
  std::optional<Moving> moving{};  // it has to continue elsewhere, and no worker has it yet
  ErrorType error_type = ErrorType::none;
  Standing standing = Standing::arriving;
  bool has_affinity = false;
  bool is_form = false;       // its body
  bool is_announced = false;  // a worker has named its model
  bool forbids_migration = false;
  bool is_queued = false;  // nothing of its answer has come

  std::optional<std::uint64_t> affinity() const {
    return has_affinity ? std::optional(affinity_key) : std::nullopt;
  }
  void set_affinity(std::optional<std::uint64_t> key) {
    affinity_key = key.value_or(0);
    has_affinity = key.has_value();
  }
  std::string_view id() const { return head.id(); }
  /// Label of metrics: one that a worker has announced, or empty.
  std::string_view label() const { return is_announced ? wanted.model : std::string_view(); }
  Fleet::Wanted to_choose() const { return {.model = wanted.model, .affinity = affinity()}; }
  /// Describes a worker that can continue the answer. `known` must outlive what is returned.
  Fleet::Wanted to_go_on(continuation::Known const& known) const {
    Fleet::Wanted which = to_choose();
    which.fit = [this, known](Worker const& worker) { return modes.fit(known, worker); };
    return which;
  }
  bool has_sent_nothing() const { return delivery.state() == relay::DeliveryState::nothing; }
};

}  // namespace lastcall::router
