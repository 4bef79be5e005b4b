#include "core/places.hpp"

#include <bit>

#include "core/check.hpp"

namespace lastcall::lifecycle {

Places::Ticket Places::allocate(Instant now, Owner owner) {
  Ticket ticket = free_;
  if (ticket == kNone) {
    ticket = static_cast<Ticket>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_ = nodes_[ticket].next;
  }
  nodes_[ticket] = Node{};
  nodes_[ticket].owner = owner;
  nodes_[ticket].since = now;
  return ticket;
}

void Places::run(Instant now, Ticket ticket, bool measured) {
  Node& node = nodes_[ticket];
  LC_ASSERT(node.state != State::running);
  if (node.state == State::waiting) {
    unlink(ticket);
  }
  node.state = State::running;
  node.since = now;
  node.measured = measured;
  ++running_;
  ++without_first_byte_;
}

void Places::wait(Ticket ticket, std::uint8_t priority) {
  Node& node = nodes_[ticket];
  LC_ASSERT(node.state == State::free);
  node.priority = priority;
  Queue& queue = queues_[priority];
  node.state = State::waiting;
  node.previous = queue.last;
  (queue.last == kNone ? queue.first : nodes_[queue.last].next) = ticket;
  queue.last = ticket;
  filled_ |= 1U << priority;
  ++waiting_;
}

bool Places::first_byte(Ticket ticket) {
  Node& node = nodes_[ticket];
  if (node.state != State::running || node.first_byte) {
    return false;
  }
  node.first_byte = true;
  --without_first_byte_;
  return true;
}

void Places::release(Ticket ticket) {
  Node& node = nodes_[ticket];
  LC_ASSERT(node.state != State::free);
  if (node.state == State::waiting) {
    unlink(ticket);
  } else {
    --running_;
    without_first_byte_ -= node.first_byte ? 0 : 1;
  }
  node.state = State::free;
  node.next = free_;
  free_ = ticket;
}

Places::Ticket Places::head() const {
  return queues_[static_cast<std::size_t>(std::countr_zero(filled_))].first;
}

std::optional<Instant> Places::oldest() const {
  std::optional<Instant> at;
  for (Queue const& queue : queues_) {
    if (queue.first != kNone) {
      at = earlier_of(at, nodes_[queue.first].since);
    }
  }
  return at;
}

void Places::unlink(Ticket ticket) {
  Node& node = nodes_[ticket];
  Queue& queue = queues_[node.priority];
  (node.previous == kNone ? queue.first : nodes_[node.previous].next) = node.next;
  (node.next == kNone ? queue.last : nodes_[node.next].previous) = node.previous;
  node.previous = node.next = kNone;
  if (queue.first == kNone) {
    filled_ &= ~(1U << node.priority);
  }
  --waiting_;
}

}  // namespace lastcall::lifecycle
