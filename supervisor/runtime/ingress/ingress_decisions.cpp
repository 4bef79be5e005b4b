#include "supervisor/runtime/ingress/ingress_decisions.hpp"

#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include "ipc/server.hpp"

namespace lastcall::runtime {

relay::Refusal refusal_of(lifecycle::Reject const& order, config::Admission const& settings) {
  relay::Refusal refusal = order.silent ? relay::engine_silent(order.retry_after)
                                        : relay::rejected_because(order.reason, order.retry_after,
                                                                  settings.overload_status);
  refusal.limit = order.limit;
  refusal.count = order.count;
  refusal.excess = order.excess;
  return refusal;
}

IngressDecisions::IngressDecisions(boost::asio::io_context& io, lifecycle::Lifecycle& core,
                                   ingress::Relay& relay, OnCancelsTaken on_cancels_taken)
    : io_(io),
      core_(core),
      relay_(relay),
      on_cancels_taken_(std::move(on_cancels_taken)),
      turn_(io, [this] { carry_out(); }) {}

void IngressDecisions::decided(std::string_view id, ingress::Admission const& admission) {
  if (std::uint64_t const serial = relay_.serial_of(id); serial != 0) {
    decisions_.push_back({{std::string(id), serial}, admission});
    turn_.request();
  }
}

void IngressDecisions::cancels_ready() {
  has_cancels_ = true;
  turn_.request();
}

void IngressDecisions::after(std::function<void()> then) {
  // The turn that carries the decisions out was posted earlier.
  boost::asio::post(io_, [this, alive = alive_, then = std::move(then)] {
    if (*alive) {
      relay_.after_orders(then);
    }
  });
}

/// This is not done at once, because the decision's turn may be in the middle of a step.
void IngressDecisions::carry_out() {
  for (Decision const& decision : std::exchange(decisions_, {})) {
    if (decision.admission.kind == ingress::Admission::Kind::admitted) {
      relay_.admitted(decision.request);
    } else {
      relay_.rejected(decision.request, decision.admission.refusal);
    }
  }
  if (std::exchange(has_cancels_, false)) {
    cut_cancelled();
  }
}

void IngressDecisions::cut_cancelled() {
  while (true) {
    lifecycle::CancelBatch const batch =
        core_.take_cancels(lifecycle::kIngressPeer, ipc::kMaxBatch);
    // The views end with the next event, and cutting feeds events.
    std::vector<std::string> const ids(batch.ids.begin(), batch.ids.end());
    lifecycle::CancelMode const mode = batch.mode;
    relay::Refusal const refusal = relay::cut_by(batch.reason);
    on_cancels_taken_(ipc::kMaxBatch, ids.size());
    if (ids.empty()) {
      return;
    }
    for (std::string const& id : ids) {
      relay_.cut({id, relay_.serial_of(id)}, refusal, mode == lifecycle::CancelMode::kill);
    }
  }
}

}  // namespace lastcall::runtime
