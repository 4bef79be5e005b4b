// The client's side of one request, from its head to its end.
//
// Theory of operation. The body is read completely; then legs.hpp sends it to one worker after the
// other until one of them answers, and the answer is relayed.
//
// Invariants:
//  1. It ends once, and is counted once, however many legs it had.
//  2. When the client disconnects, the leg ends before anything else happens.
//  3. Nothing is read from a worker while the client has not read the bytes that came before.
//
// It is freed after the turn in which it ended. Thread rule: the router's thread.
// Source: docs/router.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ring.hpp"
#include "ingress/client_request.hpp"
#include "router/call.hpp"
#include "router/legs.hpp"

namespace lastcall::router {

struct Parts;

class RoutedRequest final : public ingress::ClientRequest, public RingLink {
 public:
  RoutedRequest(Parts& parts, ingress::RequestClient const& client, relay::TakenHead const& taken);

  // ClientRequest
  void prepare(relay::TakenHead const& taken, ingress::RequestClient const& client) override;
  void start() override;
  void refuse(relay::Refusal const& refusal) override;
  bool counts() const override { return call_.route.routed == Routed::to_a_worker; }
  std::size_t take(std::span<char> bytes) override;
  bool takes_body() const override { return call_.body.takes_more() && !call_.delivery.is_over(); }
  bool needs_its_client() const override { return counts() && !call_.delivery.is_over(); }
  bool has_sent_nothing() const override { return call_.has_sent_nothing(); }
  std::size_t unfinished() const override;
  void client_left(bool has_taken_all) override;
  void flushed() override;
  // The client's connection waits only for the body and for the client; legs have their own waits.
  void expired(ingress::Wait /*wait*/) override {}
  void connect_failed() override {}
  void break_off(relay::Refusal const& refusal, lifecycle::Outcome outcome) override;
  void shed() override;
  void abandon() override;
  std::size_t held() const override;

  /// Whether its client has a part of the answer, or a worker has the request.
  bool is_begun() const { return !has_sent_nothing() || legs_.have_reached_worker(); }

  // --- its legs ---
  /// Null once the request is over.
  ingress::RequestOwner* client() const { return call_.client; }
  /// Sends the last bytes that the client gets.
  void write_and_end(std::string_view bytes);
  void end();

 private:
  /// Reads the facts that decide about its way from the body.
  void read_body();
  void route();
  /// Answers a request for the description of one model.
  void show_model();
  template <class Append>
  void answer(Append const& append);
  void retire();

  Parts& parts() const { return call_.parts; }

  Call call_;
  Legs legs_;
};

}  // namespace lastcall::router
