// Evaluates what the engine's own gauges show about the work in it.
//
// Rules:
//  1. Zero is settled when it was read twice, one refresh period apart: a gauge that is set once a
//     second may read zero while a request is being scheduled. A busy or failed reading starts this
//     again. Settled is not proven: gauges stay at 0 through a prefill that starts from idle.
//  2. A load counter counts from acceptance. It is trusted once it was above 0, or if it is known
//     to count: an engine whose tracking is off always answers 0.
//  3. A busy reading is knowledge, not silence: it holds a drain, and time without knowledge counts
//     from the last such reading. The supervisor's own request is subtracted from the figures, even
//     if they do not contain it yet, so the rest may be too small. An engine that makes progress
//     while that request is out may work for others, and that is knowledge, too.
//  4. Tokens that moved prove life, and so does a change of the KV cache's use, which every part of
//     a prefill causes although it yields no token. Tokens that did not move prove a stall only
//     where the counter rises with each token, and only by a reading that has both figures.
//  5. If the gauges do not count the token that the engine has just generated for the supervisor,
//     they do not show what the engine does, so their zero proves nothing. A reading without a
//     counter cannot be tested in this way.
//
// Values only, owned by the core's thread. Source: the model server protocol's gauges;
// specification, 'Where in-flight comes from'.
#pragma once

#include <cstdint>
#include <optional>

#include "core/event.hpp"
#include "core/instant.hpp"

namespace lastcall::lifecycle {

class GaugeEvidence {
 public:
  /// Without a refresh period a zero never settles.
  GaugeEvidence(std::optional<Duration> refresh, bool load_counts)
      : refresh_(refresh), load_counts_(load_counts) {}

  /// Returns whether the engine moved since the last reading. `own`: how many of its requests are
  /// the supervisor's.
  bool read(Instant now, GaugesRead const& reading, std::uint64_t own);
  /// The supervisor was not running: what was known before counts as known until now.
  void restart_silence(Instant now);
  /// Readings so far prove nothing about later ones; the token counter stays known.
  void forget();
  /// Only readings from here on can settle the zero.
  void await_reading() { settled_ = false; }
  /// From here on a token of our own has to appear in the counter.
  void own_token_asked() { tokens_before_own_ = tokens_; }

  /// Whether the last reading is zero.
  bool is_zero() const { return zero_since_.has_value(); }
  bool is_settled() const { return settled_; }
  /// Whether the last reading's counter lacks the token that was requested.
  bool misses_own_token() const { return misses_own_token_; }
  /// Whether the last reading shows that no accepted request is left.
  bool load_is_zero() const { return load_is_zero_; }
  bool load_counts() const { return load_counts_; }
  std::optional<Instant> busy_at() const { return busy_at_; }
  std::uint64_t in_flight() const { return in_flight_.value_or(0); }
  /// The last figure that could be read.
  std::uint64_t last_figure() const { return last_figure_; }
  /// Whether there is work that the last reading could have shown to progress.
  bool shows_work() const { return shows_work_; }
  std::optional<Instant> zero_since() const { return zero_since_; }

 private:
  std::optional<Duration> refresh_;
  bool load_counts_;
  std::optional<std::uint64_t> in_flight_;  // from the last reading; absent if the reading had none
  std::uint64_t last_figure_ = 0;
  std::optional<std::uint64_t> tokens_;
  std::optional<std::uint64_t> tokens_before_own_;
  std::optional<std::uint64_t> cache_;
  std::optional<Instant> zero_since_;
  std::optional<Instant> busy_at_;
  bool settled_ = false;
  bool load_is_zero_ = false;
  bool shows_work_ = false;
  bool misses_own_token_ = false;
};

}  // namespace lastcall::lifecycle
