// A client's request, and how much of the answer the client has received: the facts that the
// client's side and the worker's side of a request share.
//
// Thread rule: the router's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ingress/client_request.hpp"
#include "relay/delivery.hpp"
#include "relay/exchange.hpp"
#include "relay/head_writer.hpp"
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

/// How far the request has progressed, for the metrics.
enum class Standing : std::uint8_t { arriving, counted, over };

struct Call {
  using Clock = std::chrono::steady_clock;

  Parts& parts;
  ingress::RequestOwner* client = nullptr;  // null once the request is over
  LegHead head;
  // There is one call for each open stream, so the small members are in the room behind others.
  [[no_unique_address]] RequestBody body;
  RouteKind route{};
  /// The position of its connection among all connections, in units of 2^-32.
  std::uint32_t place = 0;
  Clock::time_point began_at = Clock::now();
  Clock::time_point last_event_at{};
  /// Until the body is complete, the model is the one in the path.
  [[no_unique_address]] Wanted wanted{};
  WorkerModes modes{};
  relay::After after = relay::After::keep;
  ErrorType error_type = ErrorType::none;
  std::uint64_t affinity_key = 0;
  relay::Delivery delivery{};
  continuation::Pace pace{};  // of the leg that last sent text, measured from its first text
  relay::Asked asked{};
  std::optional<Moving> moving{};  // set while it must continue elsewhere and no worker has it yet
  Standing standing = Standing::arriving;
  bool has_affinity = false;
  bool is_form = false;       // its body is a form
  bool is_announced = false;  // a worker has named its model
  bool forbids_migration = false;
  bool is_queued = false;  // no byte of its answer has arrived

  std::optional<std::uint64_t> affinity() const {
    return has_affinity ? std::optional(affinity_key) : std::nullopt;
  }
  void set_affinity(std::optional<std::uint64_t> key) {
    affinity_key = key.value_or(0);
    has_affinity = key.has_value();
  }
  std::string_view id() const { return head.id(); }
  /// The label for metrics: the model if a worker has announced it, otherwise empty.
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

/// The head of a leg of the request, whose client is there.
inline std::string head_of_leg(Call const& call, LegHead::Which const& which) {
  ingress::RequestClient const client = call.client->facts();
  if (client.is_proxy) {
    return call.head.of_leg(which, std::nullopt);
  }
  return call.head.of_leg(
      which,
      relay::Sender{.host = call.head.host(), .client = client.address, .scheme = client.scheme});
}

}  // namespace lastcall::router
