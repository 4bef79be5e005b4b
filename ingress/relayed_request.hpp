// One request that is relayed: the exchange (relay/exchange.hpp) with what the world adds to it, a
// place from the core, a connection to the engine, deadlines, and who is told of it.
//
// Invariants:
//  1. It ends once: its client has its last byte, its abort is done, or the engine has let go of
//     it. The tracker and the table of live requests have heard of that when ended() is called.
//  2. It asks the core for its place when enough of it is there, and reaches the engine only then.
//  3. The engine's connection is closed before anything else happens when its client leaves, or
//     kept until the first byte where the endpoint wants that: then it has no client any more.
//  4. Nothing is read from the engine while its client has not taken what came before, or while an
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
class RelayedRequest;

/// The connection of a request's client, as the request sees it.
class RequestOwner {
 public:
  RequestOwner() = default;
  RequestOwner(RequestOwner const&) = delete;
  RequestOwner& operator=(RequestOwner const&) = delete;

  virtual void write(std::string_view bytes) = 0;
  /// Nothing waits to be taken by the client.
  virtual bool is_flushed() const = 0;
  virtual bool is_closed() const = 0;
  /// Its one deadline, which replaces what it waited for before.
  virtual void wait_for(Wait wait) = 0;
  virtual void wait_for_nothing() = 0;
  /// There may be room for more of the request.
  virtual void read_more() = 0;
  /// The same, beginning with bytes that were read and not used.
  virtual void read_kept() = 0;
  /// Its client gets nothing more; `reset`: and must not take that for an end.
  virtual void drop_output(bool reset) = 0;
  /// The request has ended.
  virtual void ended(relay::After after) = 0;
  /// The request goes on without a client: the connection is closed, and the request is the
  /// caller's.
  virtual std::unique_ptr<RelayedRequest> give_up_request() = 0;
  virtual void weigh() = 0;

 protected:
  ~RequestOwner() = default;
};

class RelayedRequest final : public Buried,
                             public LegOwner,
                             public DeadlineOwner,
                             private relay::Surroundings {
 public:
  struct Client {
    RequestOwner& connection;
    std::string_view address;
    std::string_view scheme;
    bool is_proxy = false;
    std::uint32_t place = 0;
  };

  /// `endpoint`: of nothing that counts where it is only to be refused.
  RelayedRequest(ProxyParts& parts, Client const& client, relay::TakenHead const& taken,
                 relay::EndpointName const& endpoint);

  // --- its client ---
  /// It is to reach the engine: describes it to itself, and begins where all of it is there.
  void prepare(relay::TakenHead const& taken, Client const& client);
  void start();
  /// A body or what goes through a tunnel; how much was used.
  std::size_t take(std::span<char> bytes);
  bool takes_body() const;
  bool wants_input() const;
  bool is_tunnel() const;
  /// Before the end of its response whoever ends what it sends has left.
  bool needs_its_client() const;
  void client_ended_tunnel();
  void client_left();
  /// Its client has taken all that waited for it.
  void flushed();
  void expired(Wait wait) override;
  void refuse(relay::Refusal const& refusal);
  void break_off(relay::Refusal const& refusal, lifecycle::Outcome outcome);
  /// With its connection, for the sake of others.
  void shed();
  /// Its connection is closed: nobody is told.
  void abandon();

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
  /// Every check of the engine has passed that began then or later.
  void check_passed(std::chrono::milliseconds since);

  std::uint64_t serial() const { return counted_.serial(); }
  bool counts() const { return counted_.counts(); }
  /// Charges what it holds now.
  void weigh();
  /// Its client may still send its body, and has nothing of a response.
  bool awaits_body() const { return takes_body() && has_sent_nothing(); }
  bool has_sent_nothing() const {
    return exchange_.delivery().state() == relay::DeliveryState::nothing;
  }
  /// Bytes of an incomplete body that wait to go on.
  std::size_t unfinished() const;

 private:
  using Standing = CountedRequest::Standing;
  /// Its connection to the engine, and what the core knows of it; measured.
  static constexpr std::size_t kAround = 2 * 1024;

  // relay::Surroundings
  bool engine_may_be_dying() const override;
  bool is_closing() const override;

  // relayed_request.cpp
  bool is(Standing standing) const { return counted_.is(standing); }
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
  void told(relay::Heard const& heard, std::string_view wire);
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
