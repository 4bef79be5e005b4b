// The request of one token that the supervisor sends, and what its answer proves.
//
// It has two uses. The *barrier* is sent in a drain whose requests no peer counts, once the
// engine's gauges are at 0: gauges stay there through any prefill that starts from idle, and the
// token has come out of a step of the engine's scheduler, which sets them. The *canary* is sent to
// an engine that had nothing to do for a while: its silence shows a core that froze while idle.
//
// Rules:
//  1. One request is out at a time. None is sent before the engine was ready once, nor to an engine
//     that is ending; a request that is pending then is withdrawn.
//  2. Only a generated token proves something. Work that is seen later invalidates the proof, and
//     the next zero of the gauges causes a new request; after a refusal there is none before that.
//  3. The request is part of the engine's own figures from the moment at which it was sent
//     (TokenSent). It is not while the supervisor still asks whether the engine sleeps and which
//     models it has.
//  4. A canary that is out when a drain begins stays out, and the barrier waits for its answer:
//     an engine takes requests in their order.
//  5. A canary is due kCanaryQuiet after the last work and the last progress, and at most once in
//     kCanaryPeriod.
//
// Values only, owned by the core's thread. Source: specification, 'Where in-flight comes
// from'; specification, 'Canary'.
#pragma once

#include <cstdint>
#include <optional>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/instant.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

inline constexpr Duration kCanaryQuiet{10'000};
inline constexpr Duration kCanaryPeriod{30'000};

class TokenProbe {
 public:
  enum class Out : std::uint8_t { none, canary, barrier };
  enum class Proof : std::uint8_t { none, passed, failed };
  /// The knowledge of the joint rules at this instant.
  struct Facts {
    bool engine_takes = false;  // it was ready once, is awake, and nothing ends or replaces it
    bool drains = false;        // nothing new will come, and no peer counts what is in flight
    bool shows_zero = false;    // the same, and the gauges are at 0
    bool is_idle = false;       // serving, and the counting peer knows of no work
    bool is_counted = false;    // a peer counts
  };

  explicit TokenProbe(TokenSettings const& settings) : settings_(settings) {}

  /// Applies changes since the last call; call it before next() and next_deadline().
  void observe(Instant now, Facts const& facts);
  std::optional<AskToken> next(Instant now, Facts const& facts);
  /// The pending request must end. Returns true if it has to be withdrawn.
  bool withdraws(Facts const& facts);
  std::optional<Instant> next_deadline(Facts const& facts) const;

  void sent(TokenSent const& sent) { is_sent_ = is_sent_ || (is_out() && sent.number == number_); }
  /// The use of the request that this answers; nothing if that request is no longer pending.
  std::optional<TokenUse> answered(TokenAnswered const& answer);
  /// Whether that request is pending and is a canary.
  bool is_canary(std::uint64_t number) const { return out_ == Out::canary && number == number_; }
  /// A byte of any request moved.
  void progressed(Instant now);
  /// The gauges show work, which invalidates earlier proofs.
  void work_seen() { proof_ = Proof::none; }
  /// Another drain begins, or another engine.
  void forget_proof() { proof_ = Proof::none; }

  bool is_out() const { return out_ != Out::none; }
  /// The number of the engine's requests that are the supervisor's.
  std::uint64_t own() const { return is_sent_ ? 1 : 0; }
  Out out() const { return out_; }
  Proof proof() const { return proof_; }
  bool has_passed() const { return proof_ == Proof::passed; }
  std::optional<Instant> canary_at() const;

 private:
  void end();

  TokenSettings settings_;
  Out out_ = Out::none;
  Proof proof_ = Proof::none;
  std::uint64_t number_ = 0;  // of the last request
  bool is_sent_ = false;      // whether the pending request was sent
  std::optional<Instant> quiet_since_;
  std::optional<Instant> last_canary_;
};

}  // namespace lastcall::lifecycle
