#include "supervisor/runtime/request_orders.hpp"

#include <variant>

namespace lastcall::runtime {
namespace {

bool is_relayed(lifecycle::PeerId peer) {
  return peer == lifecycle::kIngressPeer;
}

}  // namespace

void RequestOrders::send_ahead(lifecycle::Event const& event,
                               std::span<lifecycle::Action const> actions) {
  auto const* const cancel = std::get_if<lifecycle::CancelRequested>(&event);
  cancels_are_sent_ = cancel != nullptr && !cancel->by;
  if (!cancels_are_sent_) {
    return;  // they are sent with the other output of this turn
  }
  for (lifecycle::Action const& action : actions) {
    if (auto const* const ready = std::get_if<lifecycle::CancelsReady>(&action)) {
      announce_cancels(ready->peer);
    }
  }
  server_.flush();
}

void RequestOrders::admit(lifecycle::Admit const& order) {
  if (!is_relayed(order.peer)) {
    sdks_.admit(order);
  } else if (!loop_.is_in_reply(order.peer, order.id)) {
    ingress_.admit(order);
  }
}

void RequestOrders::reject(lifecycle::Reject const& order) {
  if (!is_relayed(order.peer)) {
    sdks_.reject(order);
  } else if (!loop_.is_in_reply(order.peer, order.id)) {
    ingress_.reject(order);
  }
}

void RequestOrders::cancels_ready(lifecycle::CancelsReady const& order) {
  if (!cancels_are_sent_) {
    announce_cancels(order.peer);
  }
}

void RequestOrders::announce_cancels(lifecycle::PeerId peer) {
  if (is_relayed(peer)) {
    ingress_.cancels_ready();
  } else {
    server_.cancels_ready(peer);
  }
}

}  // namespace lastcall::runtime
