// Carries out the core's decisions about relayed requests, and its cancels, on their connections.
//
// Invariants:
//  1. No code of the proxy runs inside a step of the core: what a step decides is carried out in
//     the loop's next turn, in the order of the decisions, and cancels after them.
//  2. A decision applies to the request for which it was made: before the turn comes, that request
//     may end, and another one may come with the same id.
//
// Thread rule: the loop's thread. Source: docs/ingress.md.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "ingress/relay.hpp"
#include "ingress/tracker.hpp"
#include "supervisor/runtime/loop/once_per_turn.hpp"

namespace lastcall::runtime {

/// How a request is refused that the core does not admit.
relay::Refusal refusal_of(lifecycle::Reject const& order, config::Admission const& settings);

class IngressDecisions {
 public:
  /// Called when cancels were taken from the core's list: `ids` of them, of at most `most`.
  using OnCancelsTaken = std::function<void(std::size_t most, std::size_t ids)>;

  /// All but the callback outlive it.
  IngressDecisions(boost::asio::io_context& io, lifecycle::Lifecycle& core, ingress::Relay& relay,
                   OnCancelsTaken on_cancels_taken);
  ~IngressDecisions() { *alive_ = false; }
  IngressDecisions(IngressDecisions const&) = delete;
  IngressDecisions& operator=(IngressDecisions const&) = delete;

  /// The decision about a request that waited.
  void decided(std::string_view id, ingress::Admission const& admission);
  /// The core has cancels in its list.
  void cancels_ready();
  /// Calls back once everything that was decided until now is carried out and reported.
  void after(std::function<void()> then);

  /// Whether requests of the core's list are still to be cut.
  bool has_cancels() const { return has_cancels_; }
  /// Whether nothing is left to carry out.
  bool is_done() const { return !turn_.is_due(); }

 private:
  struct Decision {
    ingress::Request request;
    ingress::Admission admission;
  };

  void carry_out();
  void cut_cancelled();

  boost::asio::io_context& io_;
  lifecycle::Lifecycle& core_;
  ingress::Relay& relay_;
  OnCancelsTaken const on_cancels_taken_;
  std::vector<Decision> decisions_;
  OncePerTurn turn_;  // carries them out
  bool has_cancels_ = false;
  /// What after() has posted may outlive this.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lastcall::runtime
