// Deadlines of many connections with few different lengths: one list for each length, and one timer
// for all.
//
// Invariants:
//  1. The deadlines of one list have the same length, so the list is in their order, and a deadline
//     is armed and disarmed by changing a few pointers.
//  2. The timer is moved only when a deadline comes nearer; a deadline that moves away costs one
//     early wake-up.
//  3. A deadline that is destroyed is disarmed.
//
// Thread rule: the loop's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace boost::asio {
class io_context;
}

namespace lastcall::ingress {

enum class Wait : std::uint8_t {
  request,        // for a head, on a connection that is new or has sent a part of the head
  body,           // for the next part of a request's body
  client,         // until the client has taken what waits for it
  keep_alive,     // for the next request
  connect,        // to the engine
  connect_again,  // to a Unix socket whose queue was full
  first_byte,     // for the first byte of the response
  left,           // for the same, by a request that its client has left
  idle,           // between two reads of the response
  total,          // from the beginning to the end of the request
  verdict,        // on an engine whose connection broke
  held,           // on an engine that answered with an error
  parting,        // for a last request on a connection that will be closed
  ending,         // for the engine's end of a tunnel whose client has ended it
  linger,         // until a client has read our last bytes
  turned_away,    // the same, for a client above the limit of connections
  upstream_idle,  // for a connection in the pool
};
inline constexpr std::size_t kWaits = 17;

class Poller;

class DeadlineOwner {
 public:
  virtual ~DeadlineOwner() = default;
  virtual void expired(Wait wait) = 0;
};

class Deadline {
 public:
  Deadline() = default;  // the head of a ring
  explicit Deadline(DeadlineOwner& owner) : owner_(&owner) {}
  Deadline(Deadline const&) = delete;
  Deadline& operator=(Deadline const&) = delete;
  ~Deadline() { disarm(); }
  void disarm();
  /// The time at which it passes, or last passed.
  std::chrono::milliseconds at() const { return at_; }

 private:
  friend class Deadlines;

  DeadlineOwner* owner_ = nullptr;
  Deadline* previous_ = nullptr;
  Deadline* next_ = nullptr;
  std::chrono::milliseconds at_{};
};

class Deadlines {
 public:
  using Lengths = std::array<std::optional<std::chrono::milliseconds>, kWaits>;

  /// `poller` outlives it, and provides the time.
  Deadlines(boost::asio::io_context& io, Poller const& poller, Lengths lengths);
  ~Deadlines();

  /// Replaces the purpose of the deadline; a wait that has no length only disarms it.
  void arm(Deadline& deadline, Wait wait);

  struct Waiting {
    DeadlineOwner* owner = nullptr;
    std::chrono::milliseconds since{};
  };
  /// The client that has been in this wait for longest; absent if there is none.
  std::optional<Waiting> longest(Wait wait) const;

 private:
  struct Timer;

  void expire();
  void aim(std::chrono::milliseconds at);

  std::unique_ptr<Timer> timer_;
  Poller const& poller_;
  Lengths lengths_;
  std::array<Deadline, kWaits> heads_;  // of rings
  std::optional<std::chrono::milliseconds> aimed_at_;
};

}  // namespace lastcall::ingress
