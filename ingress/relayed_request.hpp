// One request that is relayed: the exchange (relay/exchange.hpp) with what the world adds to it, a
// place from the core, a connection to the engine, deadlines, and the receivers of its reports.
//
// Invariants:
//  1. It ends once: its client has its last byte, its abort is done, or the engine has let go of
//     it. The tracker and the table of live requests have received that when ended() is called.
//  2. It asks the core for its place when enough of it is there, and reaches the engine only then.
//  3. The engine's connection is closed before anything else happens when its client leaves, or
//     kept until the first byte where the endpoint is set so: then it no longer has a client.
//  4. Nothing is read from the engine while its client has not taken earlier bytes, or while an
//     error is held back.
//
// relayed_request.cpp has the way to the engine and the end, relayed_response.cpp the way back.
// It is freed after the turn in which it ended. Thread rule: the loop's thread.
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

  /// `endpoint`: of nothing that counts where it is only to be refused.
  RelayedRequest(ProxyParts& parts, Client const& client, relay::TakenHead const& taken,
                 relay::EndpointName const& endpoint);

  // --- its client ---
  /// It is to reach the engine: describes it to itself, and begins where all of it is there.
  void prepare(relay::TakenHead const& taken, Client const& client) override;
  void start() override;
  /// A body or what goes through a tunnel; how much was used.
  std::size_t take(std::span<char> bytes) override;
  bool takes_body() const override;
  bool wants_input() const override;
  bool is_tunnel() const override;
  /// A client that ends its output before the end of its response has left.
  bool needs_its_client() const override;
  void client_ended_tunnel() override;
  void client_left(bool has_taken_all) override;
  /// Its client has taken all that waited for it.
  void flushed() override;
  void expired(Wait wait) override;
  void refuse(relay::Refusal const& refusal) override;
  void break_off(relay::Refusal const& refusal, lifecycle::Outcome outcome) override;
  /// With its connection, for the sake of others.
  void shed() override;
  /// Its connection is closed: no client is notified.
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
  /// Where its client is a router: it is notified once when it will be cut, between two events.
  void notify_of_cut();
  /// Every check of the engine has passed that began then or later.
  void check_passed(std::chrono::milliseconds since) override;

  CountedRequest const& counted() const { return counted_; }
  bool counts() const override { return counted_.counts(); }
  /// Charges what it holds now.
  void weigh() override;
  bool has_sent_nothing() const override {
    return exchange_.delivery().state() == relay::DeliveryState::nothing;
  }
  /// Bytes of an incomplete body that wait to be passed on.
  std::size_t unfinished() const override;

 private:
  using Standing = CountedRequest::Standing;

  // relay::Surroundings
  bool engine_may_be_dying() const override;
  bool is_closing() const override;

  // relayed_request.cpp
  bool is(Standing standing) const { return counted_.standing() == standing; }
  /// An error of the engine is held back.
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
  std::size_t failed_addresses_ = 0;  // of the engine's, in a row
  WaitingBytes waiting_;              // what came while it waited for its place
  relay::Exchange exchange_;
  CountedRequest counted_;
  Deadline total_{*this};
  Deadline bound_{*this};  // of what is held back, or of one that is left to the engine
  Charge charge_;
};

}  // namespace lastcall::ingress
