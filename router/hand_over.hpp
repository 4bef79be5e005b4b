// The early hand-off of a stream: its worker drains, and another one takes it over before it is
// cut.
//
// Theory of operation. A hint of the worker makes it `wanted`. Where ids and text of the answer are
// level, another worker is sent what there is of it for one token, so that it has all that in its
// cache (`warming`); meanwhile the old leg goes on. Then the cut is made, again where they are
// level: the other worker is sent the continuation, and what the old leg says is held (`holding`)
// until the new one has proven that it goes on, or has failed (continuation/hand_off.hpp).
//
// Rules:
//  1. Nothing that fails here ends an answer: it goes on as if nobody had tried.
//  2. The owner hears of the end once, and takes the new leg, or goes on with the old one.
//
// Thread rule: the router's thread. Source: docs/continuation.md, 'Early hand-off'.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "router/call.hpp"
#include "router/continuation/continuation.hpp"
#include "router/leg.hpp"
#include "router/request_risk.hpp"
#include "router/seam.hpp"

namespace lastcall::router {

struct Parts;

class HandOverOwner {
 public:
  HandOverOwner() = default;
  HandOverOwner(HandOverOwner const&) = delete;
  HandOverOwner& operator=(HandOverOwner const&) = delete;

  /// `next` has taken over; nothing: the old leg goes on. `out` is what the client gets then.
  virtual void hand_over_ended(std::unique_ptr<Leg> next, continuation::Said said,
                               std::string_view out) = 0;

 protected:
  ~HandOverOwner() = default;
};

class HandOver final : public LegListener {
 public:
  /// All outlive it.
  HandOver(Parts& parts, Call const& call, Seam& seam, RequestRisk& risk, HandOverOwner& owner,
           LegListener const& client)
      : parts_(parts), call_(call), seam_(seam), risk_(risk), owner_(owner), client_(client) {}

  /// The answer has got further; `drains`: the worker of `old` has said so since.
  void look(Leg& old, bool drains);
  void drop();
  void flushed();

  // LegListener
  bool takes_response() const override { return client_.takes_response(); }
  void leg_is_late(Leg& leg, Late how) override;
  void leg_response(Leg& leg, std::span<char> bytes) override;
  void leg_ended(Leg& leg, bool orderly) override;
  void leg_handled() override {}

 private:
  enum class State : std::uint8_t { idle, wanted, warming, warmed, holding };

  void begin_leg(std::string_view suffix, std::string_view body);
  void warmed(std::span<char> bytes);
  void failed();

  Parts& parts_;
  Call const& call_;
  Seam& seam_;
  RequestRisk& risk_;
  HandOverOwner& owner_;
  LegListener const& client_;  // who knows whether the client takes anything
  State state_ = State::idle;
  std::shared_ptr<Worker> to_;
  std::string body_;  // of the leg that warms
  std::unique_ptr<Leg> leg_;
};

}  // namespace lastcall::router
