#include "router/silences.hpp"

#include <algorithm>

namespace lastcall::router {
namespace {

constexpr Time kNever = Time::max();

}  // namespace

void Silences::enter(SilentStream& stream, std::shared_ptr<Worker> const& worker, Time now,
                     Awaits awaits) {
  stream.since_ = now;
  stream.awaits_ = awaits;
  Of& of = of_worker_[worker->id()];
  of.worker = worker;
  of.streams.insert(&stream);
  workers_.emplace(&stream, worker->id());
}

void Silences::leave(SilentStream& stream) {
  auto const found = workers_.find(&stream);
  if (found == workers_.end()) {
    return;
  }
  auto const of = of_worker_.find(found->second);
  of->second.streams.erase(&stream);
  if (of->second.streams.empty()) {
    of_worker_.erase(of);
  }
  workers_.erase(found);
}

Silences::Limits Silences::limits_of(Of const& of) const {
  Time const stall = of.worker->has_left() ? stall_ / kLeft : stall_;
  std::optional<Time> last;
  for (SilentStream const* const stream : of.streams) {
    if (stream->awaits_ == Awaits::events && stream->has_spoken_ && !stream->is_paused_) {
      last = std::max(last.value_or(stream->since_), stream->since_);
    }
  }
  Time const alone = kAlone * stall;
  Time const whole = of.worker->is_failing() ? alone : kNever;
  return {.together = last ? *last + stall : kNever,
          .alone = alone,
          .whole = of.worker->is_mute(stall) ? Time{} : whole};
}

Time Silences::due(SilentStream const& stream, Limits const& limits) {
  Time const own = stream.awaits_ == Awaits::events ? limits.alone : limits.whole;
  Time const alone = own == kNever ? kNever : stream.since_ + own;
  return stream.is_paused_ ? kNever : std::max(stream.since_, std::min(limits.together, alone));
}

std::vector<SilentStream*> Silences::find(Time now) const {
  std::vector<SilentStream*> found;
  for (auto const& [id, of] : of_worker_) {
    Limits const limits = limits_of(of);
    for (SilentStream* const stream : of.streams) {
      if (due(*stream, limits) <= now) {
        found.push_back(stream);
      }
    }
  }
  return found;
}

std::optional<Time> Silences::next(Time now) const {
  if (workers_.empty()) {
    return std::nullopt;
  }
  // A stream that rests or sends its first event, and a worker that leaves, change when the next
  // one is due.
  Time soonest = now + std::max<Time>(stall_ / kLeft, Time(1));
  for (auto const& [id, of] : of_worker_) {
    Limits const limits = limits_of(of);
    for (SilentStream const* const stream : of.streams) {
      soonest = std::min(soonest, due(*stream, limits));
    }
  }
  return soonest;
}

}  // namespace lastcall::router
