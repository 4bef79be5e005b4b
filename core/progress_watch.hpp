// Records when a byte of any request last moved, and for how long none has.
//
// Rules:
//  1. A byte that moved is progress; so is the answer to a canary, a request of our own that only a
//     working engine can answer.
//  2. Work in flight that does not move has stalled since it began, or since the last progress.
//  3. A canary that follows an unanswered one adds to the same silence.
//
// Values only, owned by the core's thread. Source: specification, 'Slow and wedged'.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "core/canary_silence.hpp"
#include "core/instant.hpp"

namespace lastcall::lifecycle {

/// A reading of the engine's gauges that had its live tokens.
struct TokensRead {
  Instant at;
  bool with_work = false;
};

class ProgressWatch {
 public:
  /// A byte of any request moved.
  void moved(Instant now) { moved_at_ = now; }
  /// The number of requests in flight, reported at each change.
  void in_flight(Instant now, std::size_t count) {
    if (count == 0) {
      work_since_.reset();
      idle_since_ = idle_since_.value_or(now);
    } else {
      work_since_ = work_since_.value_or(now);
      idle_since_.reset();
    }
  }
  void canary_sent(Instant now) { canary_.sent(now); }
  /// A token is progress; any other answer is not.
  void canary_answered(Instant now, CanarySilence::Answer answer) {
    canary_.answered(now, answer);
    if (answer == CanarySilence::Answer::proof) {
      moved(now);
    }
  }
  /// The last reading of the engine's gauges, if it had live tokens.
  void tokens_read(std::optional<TokensRead> reading) { tokens_ = reading; }
  /// The supervisor was not running, so silence counts from now on.
  void restart_silence(Instant now) {
    if (work_since_) {
      work_since_ = now;
    }
    canary_.restart_silence(now);
  }

  std::optional<Instant> moved_at() const { return moved_at_; }
  std::optional<Instant> work_since() const { return work_since_; }
  std::optional<Instant> idle_since() const { return idle_since_; }
  CanarySilence const& canary() const { return canary_; }
  std::optional<TokensRead> tokens() const { return tokens_; }
  /// The time since which there has been work and none of it moved.
  std::optional<Instant> still_since() const { return unmoved(work_since_); }
  /// The length of that time; zero if there is none.
  Duration still_for(Instant now) const {
    auto const since = still_since();
    return since ? now - *since : Duration{0};
  }
  /// 'nothing in flight', 'work in flight, nothing moved for 1 s'.
  std::string text(Instant now) const;
  /// The time since which a canary has been out and nothing moved.
  std::optional<Instant> canary_silent_since() const { return unmoved(canary_.unanswered_since()); }

 private:
  std::optional<Instant> unmoved(std::optional<Instant> since) const {
    return since && moved_at_ ? std::max(*since, *moved_at_) : since;
  }

  std::optional<Instant> moved_at_;
  std::optional<Instant> work_since_;
  std::optional<Instant> idle_since_;
  CanarySilence canary_;
  std::optional<TokensRead> tokens_;
};

/// '5 s', '1500 ms'.
std::string seconds_text(Duration d);

}  // namespace lastcall::lifecycle
