// The table of tickets that admission uses: which request holds a place and which one waits.
//
// Invariants:
//  1. A ticket is free, waiting or running; each move between them is one call here.
//  2. Waiters of one priority stand in the order of their arrival, lower priorities first.
//  3. Every call is O(1); memory is allocated only when there are more tickets than ever before.
//
// It knows no limit: admission decides which may run. Owned by the core's thread. Source:
// specification, 'Admission'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/admission_limits.hpp"

namespace lastcall::lifecycle {

class Places {
 public:
  using Ticket = std::uint32_t;
  /// The owner of a ticket: a value of the caller's, which is handed back to it.
  using Owner = std::uint32_t;
  static constexpr Ticket kNone = 0xffffffffU;

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

  Ticket allocate(Instant now, Owner owner);
  /// The ticket runs from now on. `measured`: its end will show how long a place was held.
  void run(Instant now, Ticket ticket, bool measured);
  void wait(Ticket ticket, std::uint8_t priority);
  /// Returns false if it has come before or the ticket does not run.
  bool first_byte(Ticket ticket);
  /// The ticket no longer runs or waits, and is void.
  void release(Ticket ticket);

  Node const& at(Ticket ticket) const { return nodes_[ticket]; }
  /// Must not be called while none waits.
  Ticket head() const;
  /// The first waiter of a priority that `chosen` accepts; the most urgent priority comes first.
  template <typename Chosen>
  Ticket first_where(Chosen const& chosen) const {
    for (Queue const& queue : queues_) {
      if (queue.first != kNone && chosen(nodes_[queue.first])) {
        return queue.first;
      }
    }
    return kNone;
  }
  /// The time since which the oldest waiter has been waiting.
  std::optional<Instant> oldest() const;
  std::size_t running() const { return running_; }
  std::size_t waiting() const { return waiting_; }
  std::size_t without_first_byte() const { return without_first_byte_; }
  /// Calls visit(owner, since) for each waiter, in the order in which they will be granted.
  template <typename Visit>
  void for_each_waiting(Visit const& visit) const {
    for (Queue const& queue : queues_) {
      for (Ticket t = queue.first; t != kNone; t = nodes_[t].next) {
        visit(nodes_[t].owner, nodes_[t].since);
      }
    }
  }

 private:
  struct Queue {
    Ticket first = kNone;
    Ticket last = kNone;
  };

  void unlink(Ticket ticket);

  std::vector<Node> nodes_;
  Ticket free_ = kNone;  // linked by `next`
  std::array<Queue, kPriorities> queues_;
  std::uint32_t filled_ = 0;  // one bit per queue, set if it holds a waiter
  std::size_t running_ = 0;
  std::size_t waiting_ = 0;
  std::size_t without_first_byte_ = 0;
};

}  // namespace lastcall::lifecycle
