#include "router/continuation/hand_off.hpp"

#include <utility>

namespace lastcall::router::continuation {

std::optional<std::string> HandOff::cut(Mode mode) {
  std::string out;
  if (state_ == HandOffState::holding || !answer_.may_be_cut()) {
    return std::nullopt;
  }
  old_ = answer_.swap_leg({});
  auto next = answer_.next(mode, out);
  if (!next || next->finished || next->way == Way::whole) {
    answer_.swap_leg(std::move(old_));
    return std::nullopt;
  }
  held_.clear();
  old_has_ended_ = false;
  kHandOffMoves.apply(state_, HandOffEvent::cut);
  return std::move(next->body);
}

std::optional<std::string> HandOff::warm(Mode mode) {
  std::string out;
  if (state_ == HandOffState::holding || !answer_.may_be_cut()) {
    return std::nullopt;
  }
  Continuation::Leg old = answer_.swap_leg({});
  auto const next = answer_.next(mode, out);
  answer_.swap_leg(std::move(old));
  bool const is_one = next && !next->finished && next->way != Way::whole;
  return is_one ? std::optional(warming_body(next->body)) : std::nullopt;
}

Heard HandOff::heard_old(std::string_view payload, std::string& out) {
  held_.append(payload);
  return held_.size() > kMostHeld ? release(out) : Heard{};
}

/// It may have said all: then its client has the whole answer sooner from it.
Heard HandOff::old_ended(std::string& out) {
  old_has_ended_ = true;
  std::string_view const held = held_;
  std::size_t const last = held.find_last_not_of("\r\n");
  bool const says_done = last != held.npos && held.substr(0, last + 1).ends_with("[DONE]");
  return says_done ? release(out) : Heard{};
}

Heard HandOff::heard_new(std::string_view payload, std::string& out) {
  Heard const heard = answer_.heard(payload, out);
  if (heard.verified) {  // and it goes on from there, even where it failed right behind that
    std::string().swap(held_);
    kHandOffMoves.apply(state_, HandOffEvent::proven);
    return heard;
  }
  return heard.said == Said::failed ? release(out) : heard;
}

Heard HandOff::new_ended(std::string& out) {
  return release(out);
}

Heard HandOff::release(std::string& out) {
  kHandOffMoves.apply(state_, HandOffEvent::release);
  answer_.swap_leg(std::move(old_));
  std::string const held = std::exchange(held_, {});
  Heard heard = answer_.heard(held, out);
  if (old_has_ended_ && heard.said < Said::done) {
    heard = answer_.leg_ended(out);
    heard.moved = heard.moved || !held.empty();
  }
  return heard;
}

}  // namespace lastcall::router::continuation
