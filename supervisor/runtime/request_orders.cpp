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
  if (!finds_it_in_reply(order.peer, order.id)) {
    is_relayed(order.peer) ? ingress_.admit(order) : sdks_.admit(order);
  }
}

void RequestOrders::reject(lifecycle::Reject const& order) {
  if (!finds_it_in_reply(order.peer, order.id)) {
    is_relayed(order.peer) ? ingress_.reject(order) : sdks_.reject(order);
  }
}

void RequestOrders::cancels_ready(lifecycle::CancelsReady const& order) {
  if (!cancels_are_sent_) {
    announce_cancels(order.peer);
  }
}

bool RequestOrders::finds_it_in_reply(lifecycle::PeerId peer, std::string_view id) const {
  return is_relayed(peer) && loop_.is_in_reply(peer, id);
}

void RequestOrders::announce_cancels(lifecycle::PeerId peer) {
  is_relayed(peer) ? ingress_.cancels_ready() : server_.cancels_ready(peer);
}

}  // namespace lastcall::runtime
