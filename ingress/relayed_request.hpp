// One relayed request: the exchange (relay/exchange.hpp), with a place from the core, a connection
// to the engine, deadlines, and the receivers of its reports.
//
// Invariants:
//  1. It ends once: when its client has its last byte, when its abort is done, or when the engine
//     has released it. The tracker and the table of live requests know that when ended() is called.
//  2. It asks the core for its place when enough of it has come, and reaches the engine only after
//     it has the place.
//  3. When the client leaves, the connection to the engine is closed before anything else happens.
//     If the endpoint is configured so, it is kept until the first byte instead, and the request
//     has no client any more.
//  4. Nothing is read from the engine while the client has not read earlier bytes, or while an
//     error is held back.
//
// relayed_request.cpp has the way to the engine and the end, relayed_response.cpp the way back. A
// request is freed after the turn in which it ended. Thread rule: the loop's thread.
// Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/vocabulary.hpp"
#include "ingress/client_request.hpp"
#include "ingress/counted_request.hpp"
#include "ingress/deadlines.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/poller.hpp"
#include "ingress/upstream.hpp"
#include "ingress/waiting_bytes.hpp"
#include "relay/endpoint_name.hpp"
#include "relay/exchange.hpp"
#include "relay/refusal.hpp"
#include "relay/request_reader.hpp"

namespace lastcall::ingress {

struct ProxyParts;

class RelayedRequest final : public ClientRequest,
                             public LegOwner,
                             public DeadlineOwner,
                             private relay::Surroundings {
 public:
  using Client = RequestClient;

  /// `endpoint` does not count if the request will only be refused.
  RelayedRequest(ProxyParts& parts, Client const& client, relay::TakenHead const& taken,
                 relay::EndpointName const& endpoint);

  // --- its client ---
  /// The request will reach the engine: reads its head, and begins if the request is complete.
  void prepare(relay::TakenHead const& taken, Client const& client) override;
  void start() override;
  /// Handles bytes of a body or a tunnel, and returns how many were used.
  std::size_t take(std::span<char> bytes) override;
  bool takes_body() const override;
  bool wants_input() const override;
  bool is_tunnel() const override;
  /// Whether a client that ends its output before the end of its response counts as gone.
  bool needs_its_client() const override;
  void client_ended_tunnel() override;
  void client_left(bool has_taken_all) override;
  /// The client has read everything that had been written for it.
  void flushed() override;
  void expired(Wait wait) override;
  void refuse(relay::Refusal const& refusal) override;
  void break_off(relay::Refusal const& refusal, lifecycle::Outcome outcome) override;
  /// Ends the request with its connection, to make room for others.
  void shed() override;
  /// The connection is closed, so no client is notified.
  void abandon() override;

  // --- its connection to the engine ---
  void connected() override;
  void connect_failed() override;
  void engine_takes_more() override;
  bool takes_response() const override;
  void response(std::span<char> bytes) override;
  void engine_ended(bool orderly) override;
  void handled() override;

  // --- the core ---
  void admitted();
  void rejected(relay::Refusal const& refusal);
  void cut(relay::Refusal const& refusal, bool at_once);
  /// If the client is a router, it is notified once, between two events, of the time at which the
  /// stream will be cut.
  void notify_of_cut();
  /// Every check of the engine that began at `since` or later has passed.
  void check_passed(std::chrono::milliseconds since) override;

  CountedRequest const& counted() const { return counted_; }
  bool counts() const override { return counted_.counts(); }
  /// Charges the bytes that it holds now.
  void weigh() override;
  bool has_sent_nothing() const override {
    return exchange_.delivery().state() == relay::DeliveryState::nothing;
  }
  /// The number of bytes of an incomplete body that wait to be passed on.
  std::size_t unfinished() const override;

 private:
  using Standing = CountedRequest::Standing;

  // relay::Surroundings
  bool engine_may_be_dying() const override;
  bool is_closing() const override;

  // relayed_request.cpp
  bool is(Standing standing) const { return counted_.standing() == standing; }
  /// Whether an error of the engine is held back.
  bool holds() const { return exchange_.response().held_back().error() != nullptr; }
  void begin();
  void connect();
  void send_request();
  void repeat();
  void pass_on_the_end();
  void await_next();
  void await_request();
  void drop_leg();
  void leave_to_engine();
  bool must_stay() const;
  void end(relay::After after);
  void retire();
  void write_and_end(std::string_view bytes);

  // relayed_response.cpp
  void take(relay::Received const& received, std::string_view wire);
  void take_early_words();
  void let_through();
  void settle_ending();
  void engine_lives();

  ProxyParts& parts_;
  RequestOwner* client_;
  Upstream* leg_ = nullptr;
  std::uint32_t const place_;
  std::uint32_t failed_addresses_ = 0;  // addresses of the engine that have failed in a row
  WaitingBytes waiting_;                // bytes that came while it waited for its place
  relay::Exchange exchange_;
  CountedRequest counted_;
  Deadline total_{*this};
  /// Bounds how long an error is held back, or a request is left to the engine.
  Deadline bound_{*this};
  Charge charge_;
};

}  // namespace lastcall::ingress
