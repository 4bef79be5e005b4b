// What a client asks for, and what it has of the answer: the facts that both sides of a request
// work on.
//
// Thread rule: the router's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "relay/delivery.hpp"
#include "relay/exchange.hpp"
#include "relay/request_reader.hpp"
#include "router/request_body.hpp"
#include "router/route.hpp"

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
  std::string content_type{};
  std::string head{};   // to the worker, without its length and its last line
  std::string model{};  // label of metrics: one that a worker has announced, or empty
  relay::Delivery delivery{};
  relay::After after = relay::After::keep;
  std::uint64_t events = 0;  // that its client has, of an answer that is recorded
  bool forbids_migration = false;
  std::string error_type{};  // Dynamo's word; empty: it succeeded

  bool has_sent_nothing() const { return delivery.state() == relay::DeliveryState::nothing; }
};

}  // namespace lastcall::router
