#include "router/silences.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::router {
namespace {

constexpr Time kNever = Time::max();

}  // namespace

void Silences::enter(SilentStream& stream, std::shared_ptr<Worker> const& worker, Time now) {
  stream.since_ = now;
  SilentStreams& all = of_worker_[worker->id()];
  all.worker = worker;
  stream.among_ = &all;
  stream.previous_ = nullptr;
  stream.next_ = std::exchange(all.first, &stream);
  if (stream.next_ != nullptr) {
    stream.next_->previous_ = &stream;
  }
}

void Silences::leave(SilentStream& stream) {
  stream.disprove_stall();
  SilentStreams* const all = std::exchange(stream.among_, nullptr);
  if (all == nullptr) {
    return;
  }
  (stream.previous_ != nullptr ? stream.previous_->next_ : all->first) = stream.next_;
  if (stream.next_ != nullptr) {
    stream.next_->previous_ = stream.previous_;
  }
  if (all->first == nullptr) {
    of_worker_.erase(all->worker->id());
  }
}

Silences::Limits Silences::limits_of(SilentStreams const& of) const {
  Time const stall = of.worker->has_left() ? stall_ / kLeft : stall_;
  std::optional<Time> last;
  for (SilentStream const* stream = of.first; stream != nullptr; stream = stream->next_) {
    if (stream->awaits_ == Awaits::events && stream->has_spoken() && !stream->is_paused_) {
      last = std::max(last.value_or(stream->since_), stream->since_);
    }
  }
  Time const alone = kAlone * stall;
  Time const whole = of.worker->is_failing() ? alone : kNever;
  return {.stall = stall,
          .together = last ? *last + stall : kNever,
          .alone = alone,
          .whole = of.worker->is_mute(stall) ? Time{} : whole,
          .stalled_at = of.stalled_at};
}

Time Silences::due(SilentStream const& stream, Limits const& limits) {
  if (stream.is_paused_) {
    return kNever;
  }
  bool const is_event = stream.awaits_ == Awaits::events;
  Time const own = is_event ? limits.alone : limits.whole;
  Time const alone = own == kNever ? kNever : stream.since_ + own;
  Time const at = std::min(limits.together, alone);
  if (is_event || !stream.has_spoken()) {
    return std::max(stream.since_, at);
  }
  // An answer that is relayed as it comes may be in the middle of its bytes.
  Time const proven = limits.stalled_at != kNotStalled ? limits.stalled_at : at;
  return std::max(stream.since_ + limits.stall, proven);
}

std::vector<SilentStream*> Silences::find(Time now) {
  std::vector<SilentStream*> found;
  for (auto& [id, of] : of_worker_) {
    for (SilentStream* stream = of.first; stream != nullptr; stream = stream->next_) {
      stream->disprove_stall();
    }
    Limits const limits = limits_of(of);
    if (limits.together <= now && of.stalled_at == kNotStalled) {
      of.stalled_at = now;
    }
    for (SilentStream* stream = of.first; stream != nullptr; stream = stream->next_) {
      if (due(*stream, limits) <= now) {
        found.push_back(stream);
      }
    }
  }
  return found;
}

std::optional<Time> Silences::next(Time now) const {
  if (of_worker_.empty()) {
    return std::nullopt;
  }
  // A stream that pauses or sends its first event, and a worker that leaves, may change the result;
  // it is computed again when the next stream is due.
  Time soonest = now + std::max<Time>(stall_ / kLeft, Time(1));
  for (auto const& [id, of] : of_worker_) {
    Limits const limits = limits_of(of);
    for (SilentStream const* stream = of.first; stream != nullptr; stream = stream->next_) {
      soonest = std::min(soonest, due(*stream, limits));
    }
  }
  return soonest;
}

}  // namespace lastcall::router
