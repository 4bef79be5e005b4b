#include "router/continuation/held_leg.hpp"

#include <new>
#include <utility>

namespace lastcall::router::continuation {

std::optional<std::string> HeldLeg::cut(Mode mode) {
  if (state_ == HeldLegState::holding || !answer_.may_be_cut()) {
    return std::nullopt;
  }
  old_ = answer_.swap_leg({});
  std::optional<std::string> body = next_body(mode, false);
  if (!body) {
    answer_.swap_leg(std::move(old_));
    return std::nullopt;
  }
  held_.clear();
  old_has_ended_ = false;
  kHeldLegMoves.apply(state_, HeldLegEvent::cut);
  return body;
}

std::optional<std::string> HeldLeg::warm(Mode mode) {
  if (state_ == HeldLegState::holding || !answer_.may_be_cut()) {
    return std::nullopt;
  }
  Continuation::Parked old = answer_.swap_leg({});
  std::optional<std::string> body = next_body(mode, true);
  answer_.swap_leg(std::move(old));
  return body;
}

std::optional<std::string> HeldLeg::next_body(Mode mode, bool warms) {
  std::string out;
  try {
    auto next = answer_.next(mode, out);
    if (!next || next->finished || next->way == Way::whole) {
      return std::nullopt;
    }
    return warms ? warming_body(next->body) : std::move(next->body);
  } catch (std::bad_alloc const&) {
    return std::nullopt;
  }
}

Received HeldLeg::receive_old(std::string_view payload, std::string& out) {
  held_.append(payload);
  return held_.size() > kMostHeld ? release(out) : Received{};
}

/// The old leg may have sent everything; then the client gets the whole answer sooner from it.
Received HeldLeg::old_ended(std::string& out) {
  old_has_ended_ = true;
  std::string_view const held = held_;
  std::size_t const last = held.find_last_not_of("\r\n");
  bool const has_done_line = last != held.npos && held.substr(0, last + 1).ends_with("[DONE]");
  return has_done_line ? release(out) : Received{};
}

Received HeldLeg::receive_new(std::string_view payload, std::string& out) {
  Received const received = answer_.receive(payload, out);
  if (received.verified) {  // it is proven, even if it failed right after that
    std::string().swap(held_);
    kHeldLegMoves.apply(state_, HeldLegEvent::proven);
    return received;
  }
  return received.progress == Progress::failed ? release(out) : received;
}

Received HeldLeg::release(std::string& out) {
  kHeldLegMoves.apply(state_, HeldLegEvent::release);
  answer_.swap_leg(std::move(old_));
  std::string const held = std::exchange(held_, {});
  Received received = answer_.receive(held, out);
  if (old_has_ended_ && received.progress < Progress::done) {
    received = answer_.leg_ended(out);
    received.moved = received.moved || !held.empty();
  }
  return received;
}

}  // namespace lastcall::router::continuation
