// Who may run, who waits and who is refused: exactly N run, Q wait, the next is refused.
//
// Invariants:
//  1. Nobody is granted above N (or above the limit on requests without a first byte), save those
//     that take() their place: work that runs already. Shrinking a limit evicts nobody.
//  2. First come, first served: nobody passes a waiter of the same priority, and nobody is granted
//     a place while somebody waits for one. Priorities are opt-in.
//  3. A waiter has one end: granted, expired, refused, or it leaves. Its place in the queue is free
//     in that moment; who leaves before grant() is asked is never granted.
//  4. Every decision is O(1); a ticket allocates only while there were never so many before.
//
// Owned by the core's thread; no clock, no wire. Source: worker-side admission of the rejection
// specification, without its single dispatcher (Q counts exactly from 0 on).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/admission_limits.hpp"
#include "core/mixer.hpp"

namespace lastcall::lifecycle {

/// What a refused request is told before anything was measured, and the bounds of what it is told.
inline constexpr Duration kRetryDefault{1'000};
inline constexpr Duration kRetryLeast{100};
inline constexpr Duration kRetryMost{60'000};

class Admission {
 public:
  using Ticket = std::uint32_t;
  /// Whose ticket it is: a word of the caller's, handed back to it.
  using Owner = std::uint32_t;
  static constexpr Ticket kNone = 0xffffffffU;

  enum class Answer : std::uint8_t { granted, queued, refused };
  struct Granted {
    Ticket ticket = kNone;
    Owner owner = 0;
    Duration waited{};
  };

  Admission() = default;
  explicit Admission(AdmissionLimits const& limits) : limits_(limits) {}

  /// Holds from the next decision on; ask grant() afterwards.
  void set_limits(AdmissionLimits const& limits) { limits_ = limits; }
  AdmissionLimits const& limits() const { return limits_; }

  /// What arrive() would do now.
  Answer judge() const;
  /// Not where judge() says refused. Granted: it runs; queued: grant() or expired() tells its end.
  Ticket arrive(Instant now, Owner owner, std::uint8_t priority = kUsualPriority);
  /// Takes a place whatever the limits. `since_when_is_known`: its end will measure a service.
  Ticket take(Instant now, Owner owner, bool since_when_is_known);
  bool is_waiting(Ticket ticket) const { return nodes_[ticket].state == State::waiting; }
  /// The first byte of its answer has come; again: nothing happens. How long it took, where it is
  /// known since when it runs.
  std::optional<Duration> first_byte(Instant now, Ticket ticket);
  /// It ended, or it waits no longer. The ticket is void.
  void leave(Instant now, Ticket ticket);

  /// The next waiter that may run now. Ask until there is none.
  std::optional<Granted> grant(Instant now);
  /// The next waiter whose time is up; its ticket is void.
  std::optional<Owner> expired(Instant now);
  /// The next waiter, whatever its time; its ticket is void.
  std::optional<Owner> refuse_next(Instant now);
  /// When expired() has somebody to tell.
  std::optional<Instant> next_deadline() const;

  /// When a request that is refused now may find a place: the mean time that a place was held
  /// (moving average, a weight of 1/8 for the newest), times those that would be before it, by the
  /// number of places. Rises with the queue and the mean, falls with N; kRetryLeast to kRetryMost.
  Duration retry_after() const;
  /// The same for one that is refused now, one slot after the last one that was told: those that
  /// were refused together come back one by one, as places become free. A slot is the time between
  /// two places that become free; beyond kRetryMost they begin again.
  Duration take_retry_slot(Instant now);
  /// For one that is refused in a drain: it belongs elsewhere at once. A second keeps a lone
  /// replica from being hammered, and eight slots of the next one keep those that were refused
  /// together from arriving together.
  Duration take_slot_elsewhere();

  std::size_t running() const { return running_; }
  std::size_t waiting() const { return waiting_; }
  /// Running requests of which no byte has come.
  std::size_t without_first_byte() const { return without_first_byte_; }
  /// N + Q; absent where nothing is bounded.
  std::optional<std::uint64_t> capacity() const;
  /// Absent: nothing was measured yet.
  std::optional<Duration> mean_service() const;
  /// Its limits do not change by themselves, and measured times only say what is told to who asks.
  void fingerprint(Mixer& m) const { m.all(running_, waiting_, without_first_byte_); }
  /// Waiters in the order in which they will be granted.
  template <typename Visit>
  void for_each_waiting(Visit const& visit) const {
    for (Queue const& queue : queues_) {
      for (Ticket t = queue.first; t != kNone; t = nodes_[t].next) {
        visit(nodes_[t].owner, nodes_[t].since);
      }
    }
  }

 private:
  enum class State : std::uint8_t { free, waiting, running };
  struct Node {
    Owner owner = 0;
    Ticket previous = kNone;
    Ticket next = kNone;
    State state = State::free;
    std::uint8_t priority = kUsualPriority;
    bool first_byte = false;
    bool measured = false;
    Instant since;  // arrived while it waits, granted while it runs
  };
  struct Queue {
    Ticket first = kNone;
    Ticket last = kNone;
  };

  bool has_room() const;
  /// How many may run at once, as far as that is known; at least one.
  std::int64_t places() const;
  Ticket allocate(Instant now, Owner owner);
  void run(Instant now, Node& node, bool measured);
  void enqueue(Ticket ticket);
  void unlink(Ticket ticket);
  void release(Ticket ticket);
  Ticket head() const;

  AdmissionLimits limits_;
  std::vector<Node> nodes_;
  Ticket free_ = kNone;  // linked by `next`
  std::array<Queue, kPriorities> queues_;
  std::uint32_t filled_ = 0;  // bit per queue that holds somebody
  std::size_t running_ = 0;
  std::size_t waiting_ = 0;
  std::size_t without_first_byte_ = 0;
  std::int64_t mean_sixteenths_ = -1;  // of a millisecond; below zero: nothing measured
  std::int64_t last_slot_ = 0;         // in sixteenths of a millisecond
  int slot_elsewhere_ = 0;
};

}  // namespace lastcall::lifecycle
