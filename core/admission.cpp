#include "core/admission.hpp"

#include <algorithm>
#include <bit>

#include "core/check.hpp"

namespace lastcall::lifecycle {
namespace {

constexpr std::int64_t kFraction = 16;  // what the mean counts in
constexpr std::int64_t kWeight = 8;     // of all samples before the newest, and it
/// No service is taken for longer: one forgotten request must not drown the others.
constexpr Duration kLongestService{3'600'000};

}  // namespace

// --- decisions -----------------------------------------------------------------------------------

bool Admission::has_room() const {
  return (!limits_.running || running_ < *limits_.running) &&
         (!limits_.first_byte || without_first_byte_ < *limits_.first_byte);
}

Admission::Answer Admission::judge() const {
  if (waiting_ == 0 && has_room()) {
    return Answer::granted;
  }
  return waiting_ < limits_.waiting ? Answer::queued : Answer::refused;
}

Admission::Ticket Admission::arrive(Instant now, Owner owner, std::uint8_t priority) {
  Answer const answer = judge();
  LC_ASSERT(answer != Answer::refused);
  Ticket const ticket = allocate(now, owner);
  Node& node = nodes_[ticket];
  if (answer == Answer::granted) {
    run(now, node, true);
  } else {
    node.priority =
        limits_.priorities ? std::min<std::uint8_t>(priority, kPriorities - 1) : kUsualPriority;
    enqueue(ticket);
  }
  return ticket;
}

Admission::Ticket Admission::take(Instant now, Owner owner, bool since_when_is_known) {
  Ticket const ticket = allocate(now, owner);
  run(now, nodes_[ticket], since_when_is_known);
  return ticket;
}

std::optional<Duration> Admission::first_byte(Instant now, Ticket ticket) {
  Node& node = nodes_[ticket];
  if (node.state != State::running || node.first_byte) {
    return std::nullopt;
  }
  node.first_byte = true;
  --without_first_byte_;
  return node.measured ? std::optional(now - node.since) : std::nullopt;
}

void Admission::leave(Instant now, Ticket ticket) {
  Node const& node = nodes_[ticket];
  LC_ASSERT(node.state != State::free);
  if (node.state == State::waiting) {
    unlink(ticket);
    release(ticket);
    return;
  }
  --running_;
  without_first_byte_ -= node.first_byte ? 0 : 1;
  if (node.measured) {
    std::int64_t const sample = to_ms(std::min(now - node.since, kLongestService)) * kFraction;
    mean_sixteenths_ =
        mean_sixteenths_ < 0 ? sample : mean_sixteenths_ + (sample - mean_sixteenths_) / kWeight;
  }
  release(ticket);
}

std::optional<Admission::Granted> Admission::grant(Instant now) {
  if (waiting_ == 0 || !has_room()) {
    return std::nullopt;
  }
  Ticket const ticket = head();
  unlink(ticket);
  Node& node = nodes_[ticket];
  Duration const waited = now - node.since;
  run(now, node, true);
  return Granted{ticket, node.owner, waited};
}

std::optional<Admission::Owner> Admission::expired(Instant now) {
  if (!limits_.wait_timeout) {
    return std::nullopt;
  }
  for (Queue const& queue : queues_) {  // the first of each has waited longest there
    if (queue.first != kNone && nodes_[queue.first].since + *limits_.wait_timeout <= now) {
      Ticket const ticket = queue.first;
      Owner const owner = nodes_[ticket].owner;
      leave(now, ticket);
      return owner;
    }
  }
  return std::nullopt;
}

std::optional<Admission::Owner> Admission::refuse_next(Instant now) {
  if (waiting_ == 0) {
    return std::nullopt;
  }
  Ticket const ticket = head();
  Owner const owner = nodes_[ticket].owner;
  leave(now, ticket);
  return owner;
}

std::optional<Instant> Admission::next_deadline() const {
  std::optional<Instant> at;
  if (limits_.wait_timeout && waiting_ > 0) {
    for (Queue const& queue : queues_) {
      if (queue.first != kNone) {
        at = earlier_of(at, nodes_[queue.first].since + *limits_.wait_timeout);
      }
    }
  }
  return at;
}

// --- figures -------------------------------------------------------------------------------------

Duration Admission::retry_after() const {
  if (mean_sixteenths_ < 0) {
    return kRetryDefault;
  }
  auto const before = static_cast<std::int64_t>(waiting_) + 1;
  std::int64_t const divisor = places() * kFraction;
  return std::clamp(Duration{(mean_sixteenths_ * before + divisor - 1) / divisor}, kRetryLeast,
                    kRetryMost);
}

Duration Admission::take_retry_slot(Instant now) {
  std::int64_t const mean =
      mean_sixteenths_ < 0 ? to_ms(kRetryDefault) * kFraction : mean_sixteenths_;
  std::int64_t const at = to_ms(now) * kFraction;
  std::int64_t const first = at + to_ms(retry_after()) * kFraction;
  last_slot_ = std::max(first, last_slot_ + std::max<std::int64_t>(mean / places(), 1));
  if (last_slot_ > at + to_ms(kRetryMost) * kFraction) {
    last_slot_ = std::min(first, at + to_ms(kRetryMost) * kFraction / 2);
  }
  return std::min(Duration{(last_slot_ - at + kFraction - 1) / kFraction}, kRetryMost);
}

Duration Admission::take_slot_elsewhere() {
  constexpr Duration kFirst{1'000};
  constexpr int kSlots = 8;
  constexpr Duration kSlot{125};
  return kFirst + kSlot * (slot_elsewhere_++ % kSlots);
}

std::int64_t Admission::places() const {
  std::size_t const places = limits_.running ? *limits_.running : running_;
  return std::max<std::int64_t>(static_cast<std::int64_t>(places), 1);
}

std::optional<std::uint64_t> Admission::capacity() const {
  return limits_.running ? std::optional(std::uint64_t{*limits_.running} + limits_.waiting)
                         : std::nullopt;
}

std::optional<Duration> Admission::mean_service() const {
  return mean_sixteenths_ < 0 ? std::nullopt
                              : std::optional(Duration{mean_sixteenths_ / kFraction});
}

// --- places --------------------------------------------------------------------------------------

Admission::Ticket Admission::allocate(Instant now, Owner owner) {
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

void Admission::run(Instant now, Node& node, bool measured) {
  node.state = State::running;
  node.since = now;
  node.measured = measured;
  ++running_;
  ++without_first_byte_;
}

void Admission::enqueue(Ticket ticket) {
  Node& node = nodes_[ticket];
  Queue& queue = queues_[node.priority];
  node.state = State::waiting;
  node.previous = queue.last;
  (queue.last == kNone ? queue.first : nodes_[queue.last].next) = ticket;
  queue.last = ticket;
  filled_ |= 1U << node.priority;
  ++waiting_;
}

void Admission::unlink(Ticket ticket) {
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

void Admission::release(Ticket ticket) {
  nodes_[ticket].state = State::free;
  nodes_[ticket].next = free_;
  free_ = ticket;
}

Admission::Ticket Admission::head() const {
  return queues_[static_cast<std::size_t>(std::countr_zero(filled_))].first;
}

}  // namespace lastcall::lifecycle
