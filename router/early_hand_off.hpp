// The early hand-off of a stream whose worker drains: another worker continues the stream before it
// is cut.
//
// Theory of operation. A hint from the worker announces when it will cut the answer. An answer
// stays where it is if the rest of it fits into that time (continuation/fitting.hpp); if it does
// not fit, or no longer fits, the answer is `wanted` elsewhere. When its ids and text are level and
// another worker has room, that worker is asked for one token after the answer so far, so that its
// cache holds the answer (`warming`); meanwhile the old leg continues. A worker that is known to
// have no such cache skips this step. Then the cut is made, again where ids and text are level: the
// other worker gets the continuation, and what the old leg sends is held (`holding`) until the new
// one has proven that it continues, or has failed (continuation/held_leg.hpp). An answer without
// any text yet is started again elsewhere.
//
// Rules:
//  1. No failure here ends an answer: it continues as if nothing had been tried. A move counts when
//     it is made.
//  2. The owner is notified of the end once. It then continues with the new leg or with the old
//     one.
//  3. When the worker's time is over, the hand-off ends too: held bytes are sent, and the cut is
//     handled like any other.
//  4. A worker takes over only as many answers at a time as it would after another worker's death
//     (pacing.hpp), counted from the first leg to the proof of the second; the others wait, the
//     smallest first.
//
// Thread rule: the router's thread. Source: docs/continuation.md, 'Early hand-off'.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "router/alarms.hpp"
#include "router/call.hpp"
#include "router/continuation/continuation.hpp"
#include "router/continuation/fitting.hpp"
#include "router/continuation_owner.hpp"
#include "router/leg.hpp"
#include "router/pacing.hpp"
#include "router/request_risk.hpp"
#include "router/seam.hpp"
#include "router/waiting_room.hpp"

namespace lastcall::router {

struct Parts;

/// The outcome of a hand-off.
struct HandOffResult {
  enum class How : std::uint8_t {
    moved,        // `next` has taken over
    stays,        // the old leg continues
    begins_anew,  // nothing has been sent yet, and another worker has room
  };
  How how = How::stays;
  std::unique_ptr<Leg> next{};
  continuation::Received received{};
  std::string_view out{};  // the bytes that the client gets next
  /// When the worker of `next` will cut the answer, if it has announced that already.
  std::optional<Time> hint{};
};

class EarlyHandOff final : public LegListener, public Waiter, public Sleeper {
 public:
  /// All of them outlive this.
  EarlyHandOff(Parts& parts, Call const& call, Seam& seam, RequestRisk& risk,
               ContinuationOwner& owner, LegListener const& client)
      : parts_(parts), call_(call), seam_(seam), risk_(risk), owner_(owner), client_(client) {}

  /// Called when the answer has progressed; its pace is in the call. `hint` is when the worker of
  /// `old` will cut it, if the worker has announced that since the last call. That may be a while
  /// ago, because nothing is looked at while the client does not read.
  void look(Leg& old, std::optional<Time> hint);
  /// Called when the bytes of the old leg that were held have been passed on, because it has sent
  /// everything, or too much: nothing of the new one may be read any more.
  void released();
  void drop();
  void flushed();

  // LegListener
  bool takes_response() const override { return client_.takes_response(); }
  void leg_is_late(Leg& leg, Late how) override;
  void leg_response(Leg& leg, std::span<char> bytes) override;
  void leg_ended(Leg& leg, bool orderly) override;
  void leg_handled() override {}

  // Waiter
  Tried try_again() override;
  // Sleeper
  void alarm_rings() override;

 private:
  enum class State : std::uint8_t { idle, staying, wanted, waiting, warming, warmed, holding };
  struct Drain {
    std::shared_ptr<Worker> worker;
    Time cut_at{};
  };

  /// Decides whether the rest of the answer fits into the worker's time.
  void weigh();
  void begin_leg(std::string_view suffix, std::string body);
  void warmed(std::span<char> bytes);
  void failed();

  Parts& parts_;
  Call const& call_;
  Seam& seam_;
  RequestRisk& risk_;
  ContinuationOwner& owner_;
  LegListener const& client_;  // it knows whether the client reads
  State state_ = State::idle;
  Drain from_;
  std::shared_ptr<Worker> to_;
  std::optional<Time> to_cuts_at_;  // set if that worker drains, too
  Pacing::Place place_;
  std::unique_ptr<Leg> leg_;
};

}  // namespace lastcall::router
