// The workers that a request is sent to, one after the other, until one of them answers.
//
// Theory of operation. A worker is chosen (fleet.hpp) and the request sent to it: that is a *leg*.
// A leg that fails before the client has a byte is replaced by one to another worker at once, as
// the endpoint allows (route.hpp), at most `choosing.attempts` in all. From the worker's head on
// the response flows through, whole events at a time. Once it has begun, a leg that fails is
// replaced by one that goes on where the answer stopped, where that can be proven (seam.hpp).
//
// Thread rule: the router's thread. Source: docs/router.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingress/deadlines.hpp"
#include "ingress/upstream.hpp"
#include "router/attempts.hpp"
#include "router/call.hpp"
#include "router/fleet.hpp"
#include "router/leg.hpp"
#include "router/metrics.hpp"
#include "router/seam.hpp"

namespace lastcall::router {

struct Parts;
class RoutedRequest;

class Legs final : public ingress::LegOwner, public ingress::DeadlineOwner {
 public:
  /// All outlive it.
  Legs(Parts& parts, RoutedRequest& request, Call& call);

  /// The request is whole.
  void start();
  /// Nothing of it is left with a worker.
  void drop();
  /// Its client has taken what waited for it.
  void flushed();
  std::size_t capacity() const { return seam_.capacity(); }

  // LegOwner
  void connected() override;
  void connect_failed() override;
  void engine_takes_more() override;
  bool takes_response() const override;
  void response(std::span<char> bytes) override;
  void engine_ended(bool orderly) override;
  void handled() override;

  /// Of its own deadline, and of its client's connection.
  void expired(ingress::Wait wait) override;

 private:
  bool choose_and_connect();
  bool connect_to(std::shared_ptr<Worker> const& worker, bool fresh);
  void drop_leg(bool keep);
  /// The leg brings nothing: another worker, or the end with `last`.
  void replace_leg(Failover why, relay::Refusal const& last);
  bool is_replaced(relay::ResponseHead const& head);
  bool read_head(std::span<char>& bytes, std::string& wire);
  continuation::Said deliver(std::string_view payload, std::string& wire);
  /// An answer that has begun goes on at another worker, or ends with a word.
  void migrate(std::string_view reason);
  /// For that: asks until somebody takes it.
  void connect_again();
  void break_off(relay::Refusal const& refusal);

  Parts& parts_;
  RoutedRequest& request_;
  Call& call_;
  std::unique_ptr<Leg> leg_;
  Attempts attempts_;
  Seam seam_;
  ingress::Deadline total_{*this};
};

}  // namespace lastcall::router
