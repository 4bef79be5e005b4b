// Admission decides which request runs, waits or is refused: exactly N run, Q wait, and the next
// one is refused.
//
// Invariants:
//  1. No request is granted above N (or above the limit on requests without a first byte), except
//     by take(), for work that runs already. Shrinking a limit evicts no request.
//  2. First come, first served: no request passes a waiter of the same priority, and none is
//     granted a place while another one waits for it. Priorities are opt-in.
//  3. A waiter ends exactly once: it is granted, expires, is refused, or leaves. Its place in the
//     queue is free from that moment on; a waiter that leaves before grant() is called is never
//     granted.
//  4. Every decision is O(1); memory is allocated only when there are more tickets than ever
//     before.
//
// Owned by the core's thread; no clock, no wire. Source: specification, 'Admission', after
// Dynamo's worker-side admission without its single dispatcher (Q counts exactly from 0 on).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/admission_limits.hpp"
#include "core/mixer.hpp"
#include "core/places.hpp"
#include "core/retry_slots.hpp"

namespace lastcall::lifecycle {

class Admission {
 public:
  using Ticket = Places::Ticket;
  using Owner = Places::Owner;
  static constexpr Ticket kNone = Places::kNone;

  enum class Answer : std::uint8_t { granted, queued, refused };
  struct Granted {
    Ticket ticket = kNone;
    Owner owner = 0;
    Duration waited{};
  };

  explicit Admission(AdmissionLimits const& limits = {}) : limits_(limits) {}

  /// Applies from the next decision on; call grant() afterwards.
  void set_limits(AdmissionLimits const& limits) { limits_ = limits; }
  AdmissionLimits const& limits() const { return limits_; }

  /// Returns what arrive() would do now.
  Answer judge() const;
  /// Must not be called when judge() returns refused. If granted, the request runs; if queued,
  /// grant() or expired() reports the end of its wait.
  Ticket arrive(Instant now, Owner owner, std::uint8_t priority = kUsualPriority);
  /// Takes a place, whatever the limits are. `since_when_is_known`: the start of the request is
  /// known, so its end shows how long it held its place.
  Ticket take(Instant now, Owner owner, bool since_when_is_known);
  bool is_waiting(Ticket ticket) const {
    return places_.at(ticket).state == Places::State::waiting;
  }
  /// The first byte of the request's answer has come; a second call changes nothing. Returns how
  /// long the byte took, if the request's start is known.
  std::optional<Duration> first_byte(Instant now, Ticket ticket);
  /// The request ended or no longer waits. The ticket is void.
  void leave(Instant now, Ticket ticket);

  /// Returns the next waiter that may run now. Call it until there is none.
  std::optional<Granted> grant(Instant now);
  /// Returns the next waiter that has run out of time; its ticket is void.
  std::optional<Owner> expired(Instant now);
  /// Returns the next waiter, whatever its time; its ticket is void.
  std::optional<Owner> refuse_next(Instant now);
  /// The time at which expired() will have a waiter to report.
  std::optional<Instant> next_deadline() const;

  /// The time after which a request that is refused now may find a place (retry_slots.hpp).
  Duration retry_after() const { return retry_.retry_after(waiting(), capacity_to_run()); }
  Duration take_retry_slot(Instant now) { return retry_.take(now, waiting(), capacity_to_run()); }
  /// The same for a request that is refused in a drain.
  Duration take_slot_elsewhere() { return retry_.take_elsewhere(); }

  std::size_t running() const { return places_.running(); }
  std::size_t waiting() const { return places_.waiting(); }
  /// Running requests that are without their first byte.
  std::size_t without_first_byte() const { return places_.without_first_byte(); }
  /// N + Q; absent if nothing is bounded.
  std::optional<std::uint64_t> capacity() const;
  /// Calls visit(owner, since) for each waiter, in the order in which they will be granted.
  template <typename Visit>
  void for_each_waiting(Visit const& visit) const {
    places_.for_each_waiting(visit);
  }
  /// Limits and measured times are left out: limits do not change by themselves, and measured times
  /// only affect the answer to a refused request.
  void fingerprint(Mixer& m) const { m.all(running(), waiting(), without_first_byte()); }

 private:
  bool has_room() const;
  Owner refuse(Instant now, Ticket ticket);
  /// The number of requests that may run at once, as far as it is known; at least one.
  std::size_t capacity_to_run() const;

  AdmissionLimits limits_;
  Places places_;
  RetrySlots retry_;
};

}  // namespace lastcall::lifecycle
