// Evidence of what is in flight when no connected peer reports it: the ingress, a peer that is
// gone, the engine's own gauges, and the request of one token.
//
// Rules:
//  1. If the ingress is the only way to the engine, it is a source from the start; otherwise it is
//     one once it has relayed a request.
//  2. A source whose process is gone has nothing in flight any more.
//  3. Gauges at 0 are a proof of idleness only with a load counter at 0, or with the answer to a
//     request that was sent after they fell to 0 and that they count.
//
// Owned by the core's thread. Source: specification, 'Where in-flight comes from'.
#pragma once

#include "core/engine_rest.hpp"
#include "core/gauge_evidence.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"
#include "core/token_probe.hpp"

namespace lastcall::lifecycle {

class Evidence {
 public:
  explicit Evidence(Settings const& settings)
      : gauges(settings.gauge_refresh, settings.load_counts),
        token(settings.token),
        is_exclusive_(settings.ingress_is_exclusive) {}

  void ingress_relayed() { has_relayed_ = true; }
  void source_gone() { source_gone_ = true; }
  /// A drain begins or was undone, so earlier readings prove nothing about what comes next.
  void forget_proofs() {
    gauges.forget();
    token.forget_proof();
  }
  /// There is another engine, which has other gauges.
  void forget_engine(Settings const& settings) {
    gauges = GaugeEvidence{settings.gauge_refresh, settings.load_counts};
    token.forget_proof();
    rest = EngineRest{};
  }
  void forget_source() { source_gone_ = false; }

  bool ingress_has_relayed() const { return has_relayed_; }
  /// Whether the ingress is the only way to the engine, or has relayed a request.
  bool ingress_counts() const { return is_exclusive_ || has_relayed_; }
  bool had_source() const { return source_gone_; }
  /// Whether the engine's own report proves that it has no work.
  bool proves_idle() const {
    bool const is_proven = token.has_passed() && !gauges.misses_own_token();
    return gauges.is_settled() && (gauges.load_is_zero() || is_proven);
  }

  /// The age of a reading is mixed in only for as long as something waits for it.
  void fingerprint(Mixer& m, Settings const& settings, bool drains) const {
    m.all(gauges.is_settled(), gauges.shows_work(), gauges.in_flight());
    m.all(gauges.misses_own_token());
    m.age(gauges.zero_since(), settings.gauge_refresh.value_or(Duration{0}));
    m.age(gauges.busy_at(), drains ? settings.shutdown.drain_unknown : Duration{0});
    m.all(gauges.load_counts(), gauges.load_is_zero());
    m.all(token.out(), token.own(), token.proof(), token.canary_at());
    m.put(rest.state());
    m.age(rest.since(), kLastBytes);
    m.all(has_relayed_, source_gone_);
  }

  GaugeEvidence gauges;
  TokenProbe token;
  EngineRest rest;

 private:
  bool is_exclusive_;
  bool has_relayed_ = false;
  bool source_gone_ = false;
};

}  // namespace lastcall::lifecycle
