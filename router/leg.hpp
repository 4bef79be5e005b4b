// A request on one connection to a worker, with its waits: for the connection, the head, and the
// next event.
//
// Rules:
//  1. Each wait has a deadline that belongs to the leg. The deadline by which the client must read
//     belongs to the client's connection, and these deadlines never replace it.
//  2. While the client does not read, a worker cannot be late, and the leg pauses.
//  3. A leg that is over makes no further call; it is freed after the turn in which it ended, so
//     that its listener may end it from any of its calls.
//
// Thread rule: the router's thread. Source: docs/router.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingress/deadlines.hpp"
#include "ingress/poller.hpp"
#include "ingress/upstream.hpp"
#include "relay/response_reader.hpp"
#include "router/alarms.hpp"
#include "router/fleet.hpp"
#include "router/outgoing.hpp"
#include "router/pacing.hpp"
#include "router/silences.hpp"

namespace lastcall::router {

class Leg;
struct Parts;

/// The event that did not arrive in time.
enum class Late : std::uint8_t {
  unreachable,  // waited for a connection
  no_head,      // waited for `timeouts.first_byte`, or at a worker that is stalled
  idle,         // waited for the next bytes for `timeouts.idle`
  /// Its worker sends nothing on any stream, or has sent nothing on this stream for very long.
  stalled,
  gone,  // like `stalled`, at a worker that has left
  /// Its answer comes in one piece, so its silence proves nothing, but its worker is stalled.
  beside,
};

/// The owner of a leg.
class LegListener {
 public:
  LegListener() = default;
  LegListener(LegListener const&) = delete;
  LegListener& operator=(LegListener const&) = delete;

  virtual bool takes_response() const = 0;
  virtual void leg_is_late(Leg& leg, Late how) = 0;
  virtual void leg_response(Leg& leg, std::span<char> bytes) = 0;
  virtual void leg_ended(Leg& leg, bool orderly) = 0;
  /// All bytes that arrived have been handled.
  virtual void leg_handled() = 0;

 protected:
  ~LegListener() = default;
};

/// A place in the pacing. For an answer in one piece, which has no first event, it is given back
/// after the time in which a request would kill its engine.
class LegPlace final : public Sleeper {
 public:
  LegPlace(Parts& parts, std::uint64_t worker, LegWork const& work, Awaits awaits);
  ~LegPlace();
  void withdraw() { place_.withdraw(); }
  void alarm_rings() override { place_.give_back(); }

 private:
  Parts& parts_;
  Pacing::Place place_;
};

class Leg final : public ingress::Buried, public ingress::LegOwner, public SilentStream {
 public:
  /// The request that the leg sends. `head` lacks the content length and the final empty line.
  /// `body` outlives the leg; if `own_body` is not empty, it is sent instead.
  struct Message {
    std::string head;
    std::string_view body;
    std::string own_body{};
    Awaits awaits = Awaits::whole_answer;
    bool fresh = false;  // on a connection that has not been used before
    LegWork work{};
  };
  /// Takes a connection that exists already. begin() makes a connection and starts the request on
  /// it.
  Leg(Parts& parts, LegListener& listener, std::shared_ptr<Worker> worker,
      ingress::Upstream& connection, Message message);
  /// Absent if no connection can be made. `parts` and `listener` outlive the leg.
  static std::unique_ptr<Leg> begin(Parts& parts, LegListener& listener,
                                    std::shared_ptr<Worker> const& worker, Message message);
  /// Ends the leg. `keep`: its connection may carry another request, if its request went out whole
  /// and its response came whole: the rest of either would be taken for a part of the next one.
  static void end(std::unique_ptr<Leg>& leg, bool keep);
  /// Ends the leg, whose answer is complete although the end of its body has not arrived. Its
  /// connection may carry another request after that end.
  static void end_before_last_bytes(std::unique_ptr<Leg>& leg);

  std::shared_ptr<Worker> const& worker() const { return worker_; }
  relay::ResponseReader& reader() { return reader_; }
  Outgoing const& sent() const { return out_; }
  /// Whether the connection had carried another request before and was closed before a byte of an
  /// answer arrived: servers close idle connections, and this request may have crossed that.
  bool is_stale() const { return connection_.was_used() && reader_.has_nothing(); }

  void listen_to(LegListener& listener) { listener_ = &listener; }
  /// The head has arrived, and the leg waits for more. `progress`: an event has arrived.
  void await_next(bool progress);
  /// The client has stopped reading.
  void rest();
  /// The client has read everything, so the leg reads on.
  void resume();

  // LegOwner
  void connected() override;
  void connect_failed() override;
  void engine_takes_more() override { out_.write_to(connection_); }
  bool takes_response() const override { return listener_->takes_response(); }
  void response(std::span<char> bytes) override;
  void engine_ended(bool orderly) override { listener_->leg_ended(*this, orderly); }
  void handled() override { listener_->leg_handled(); }
  void expired(ingress::Wait wait) override;

  // SilentStream
  void is_silent() override;

 private:
  void await();
  void leave();

  Parts& parts_;
  LegListener* listener_;
  std::shared_ptr<Worker> const worker_;
  ingress::Upstream& connection_;
  relay::ResponseReader reader_;
  Outgoing out_;
  /// A place in the pacing, if its work needs one; given back with the first event.
  std::unique_ptr<LegPlace> place_;
};

}  // namespace lastcall::router
