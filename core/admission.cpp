#include "core/admission.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace lastcall::lifecycle {

// --- decisions -----------------------------------------------------------------------------------

bool Admission::has_room() const {
  return (!limits_.running || running() < *limits_.running) &&
         (!limits_.first_byte || without_first_byte() < *limits_.first_byte);
}

Admission::Answer Admission::judge() const {
  if (waiting() == 0 && has_room()) {
    return Answer::granted;
  }
  return waiting() < limits_.waiting ? Answer::queued : Answer::refused;
}

Admission::Ticket Admission::arrive(Instant now, Owner owner, std::uint8_t priority) {
  Answer const answer = judge();
  LC_ASSERT(answer != Answer::refused);
  Ticket const ticket = places_.allocate(now, owner);
  if (answer == Answer::granted) {
    places_.run(now, ticket, true);
  } else {
    places_.wait(ticket, limits_.priorities ? std::min<std::uint8_t>(priority, kPriorities - 1)
                                            : kUsualPriority);
  }
  return ticket;
}

Admission::Ticket Admission::take(Instant now, Owner owner, bool since_when_is_known) {
  Ticket const ticket = places_.allocate(now, owner);
  places_.run(now, ticket, since_when_is_known);
  return ticket;
}

std::optional<Duration> Admission::first_byte(Instant now, Ticket ticket) {
  if (!places_.first_byte(ticket)) {
    return std::nullopt;
  }
  Places::Node const& node = places_.at(ticket);
  return node.measured ? std::optional(now - node.since) : std::nullopt;
}

void Admission::leave(Instant now, Ticket ticket) {
  Places::Node const& node = places_.at(ticket);
  if (node.state == Places::State::running && node.measured) {
    retry_.held_for(now - node.since);
  }
  places_.release(ticket);
}

std::optional<Admission::Granted> Admission::grant(Instant now) {
  if (waiting() == 0 || !has_room()) {
    return std::nullopt;
  }
  Ticket const ticket = places_.head();
  Duration const waited = now - places_.at(ticket).since;
  places_.run(now, ticket, true);
  return Granted{ticket, places_.at(ticket).owner, waited};
}

std::optional<Admission::Owner> Admission::expired(Instant now) {
  if (!limits_.wait_timeout) {
    return std::nullopt;
  }
  Ticket const ticket = places_.first_where([&](Places::Node const& first) {
    return first.since + *limits_.wait_timeout <= now;  // of its priority, it has waited longest
  });
  return ticket == kNone ? std::nullopt : std::optional(refuse(now, ticket));
}

std::optional<Admission::Owner> Admission::refuse_next(Instant now) {
  return waiting() == 0 ? std::nullopt : std::optional(refuse(now, places_.head()));
}

Admission::Owner Admission::refuse(Instant now, Ticket ticket) {
  Owner const owner = places_.at(ticket).owner;
  leave(now, ticket);
  return owner;
}

std::optional<Instant> Admission::next_deadline() const {
  auto const oldest = limits_.wait_timeout && waiting() > 0 ? places_.oldest() : std::nullopt;
  return oldest ? std::optional(*oldest + *limits_.wait_timeout) : std::nullopt;
}

// --- figures -------------------------------------------------------------------------------------

std::size_t Admission::capacity_to_run() const {
  return std::max<std::size_t>(limits_.running ? *limits_.running : running(), 1);
}

std::optional<std::uint64_t> Admission::capacity() const {
  return limits_.running ? std::optional(std::uint64_t{*limits_.running} + limits_.waiting)
                         : std::nullopt;
}

}  // namespace lastcall::lifecycle
