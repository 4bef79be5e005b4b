// Readiness of many sockets for one thread: an epoll set of its own inside the loop's.
//
// Invariants:
//  1. Sockets are added once, edge-triggered, for all events. Nothing is armed again, and no buffer
//     waits with a socket, so an idle stream costs only its small state. The set itself is added to
//     the loop's set in the same way, so that a wake-up costs no system calls besides the two waits
//     (docs/adr/0014-one-registration.md).
//  2. A socket that was closed in a turn is freed after it, so that an event of the same turn still
//     finds it.
//  3. The loop's other work is never starved: one turn delivers at most kBatch events, a socket on
//     which bytes arrive faster than they are handled has its share of a turn and waits for the
//     next one, and sockets that wait so are served for kBearable in a turn, each of them once.
//  4. Ends come first in a turn: a connection that its engine has closed has left the pool before a
//     request of the same turn looks for a connection.
//  5. A socket that takes longer than kBearable is reported, because no other one is served
//     meanwhile.
//
// Thread rule: the loop's thread; it is never destroyed in a turn. It keeps its loop running.
// Source: epoll(7), 'Edge-triggered', and epoll sets in epoll sets.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/once_per_turn.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::ingress {

/// An object that is freed after the turn that ended it, so that calls of the same turn still find
/// it.
class Buried {
 public:
  Buried() = default;
  Buried(Buried const&) = delete;
  Buried& operator=(Buried const&) = delete;
  virtual ~Buried() = default;
};

class Watched : public Buried {
 public:
  /// `events` are EPOLL* bits; 0 if the socket had requested another turn.
  virtual void ready(std::uint32_t events) = 0;
  /// The name in reports of slowness, a static text.
  virtual std::string_view kind() const = 0;

 private:
  friend class Poller;
  bool is_due_again_ = false;  // it has requested another turn
};

class Poller {
 public:
  using Duration = std::chrono::steady_clock::duration;
  /// `took` is time on the wall clock: a thread that got no processor is slow, too.
  using OnSlow = std::function<void(std::string_view kind, Duration took)>;
  static constexpr std::chrono::milliseconds kBearable{5};

  Poller(boost::asio::io_context& io, OnSlow on_slow);
  ~Poller();
  Poller(Poller const&) = delete;
  Poller& operator=(Poller const&) = delete;

  /// Returns false if there is no room (errno has the reason).
  bool add(int fd, Watched& watched);
  /// Call it before the descriptor is closed: a child that another thread is just starting may
  /// still hold a copy, and events would continue.
  void remove(int fd);
  /// Call it once the descriptor is closed; `watched` is freed after this turn.
  void bury(std::unique_ptr<Watched> watched);
  /// The same for an object without a descriptor.
  void bury_unwatched(std::unique_ptr<Buried> buried);
  /// Calls ready(0) of `watched` in one of the next turns, once, however often it was requested.
  void again(Watched& watched);
  /// Whether the socket that is served has to wait for its next turn, after this many reads.
  bool is_share_used(int reads) const;

  /// The time. Within a turn it is the time at which the current socket's turn began, so no system
  /// call is needed.
  std::chrono::milliseconds now() const;
  /// The same with the precision of the clock.
  std::chrono::steady_clock::time_point instant() const;

 private:
  class Loop;
  class Turn;
  static constexpr int kBatch = 64;

  void turn();
  void run_again();
  void free_buried();

  void serve(Watched& watched, std::uint32_t events);

  std::unique_ptr<Loop> loop_;
  OnSlow const on_slow_;
  std::chrono::steady_clock::time_point now_;  // when the last socket was served
  std::deque<Watched*> again_;
  OncePerTurn<boost::asio::io_context> again_turn_;  // serves those in `again_`
  OncePerTurn<boost::asio::io_context> burial_;
  std::vector<std::unique_ptr<Buried>> buried_;
  bool is_in_turn_ = false;
};

}  // namespace lastcall::ingress
