// The gate of phases 1 and 2 decides when deregistration is over, when nothing that holds the drain
// runs any more, and what is cut at its end.
//
// Rules:
//  1. `late_accept` begins when all registries have settled or their time is over.
//  2. Requests of endpoints that do not hold the drain are cut with reason `migrate`: when the
//     drain begins, or when the gate is empty. Each cut is requested once; what still runs after
//     the settle time is killed.
//  3. At the stop-cancel point everything that runs is cut, whatever was cut before.
//  4. If no source reports what is in flight, only time can end the drain: silence counts from the
//     last time at which something was known, and proves nothing.
//
// It returns one step at a time; the coordinator carries it out. Owned by the core's thread.
// Source: specification, 'Phase 1'; specification, 'Phase 2'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/action.hpp"
#include "core/budgets.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

/// The facts that decide whether the gate of phase 2 is open.
struct Facts {
  bool registries_settled = true;
  bool registries_confirmed = true;
  /// Whether a peer reports requests: an SDK peer or the ingress.
  bool in_flight_known = true;
  /// Whether the engine's own gauges have read zero twice.
  bool gauges_idle = false;
  /// The last time at which the gauges showed that something runs or waits.
  std::optional<Instant> gauges_busy_at;
  /// Whether there are such gauges.
  bool has_gauges = false;
  /// Whether peers of an earlier life are still expected back, so that no gate counts as empty.
  bool recovering = false;
  /// Whether they did not come back, so that it is not known how their requests ended.
  bool unseen = false;
  std::size_t graceful = 0;    // requests on graceful endpoints
  std::size_t ungraceful = 0;  // requests on the others

  std::size_t in_flight() const { return graceful + ungraceful; }
};

class DrainGate {
 public:
  /// The stages of a cut: requested to stop, then killed.
  enum class Cut : std::uint8_t { none, asked, killed };
  enum class Step : std::uint8_t {
    none,
    deregistered,
    stop_ungraceful,
    kill_ungraceful,
    stop_all,
    kill_all,
    closed,
  };
  struct Next {
    Step step = Step::none;
    PhaseOutcome outcome = PhaseOutcome::completed;  // of the phase that this step ends
  };
  /// The start of the phase under way, and what bounds it.
  struct Bounds {
    Phase phase = Phase::starting;
    Instant began;
    std::optional<Instant> restored_at;
    std::optional<Instant> stop_cancel;
    Instant kill_at;  // when requests that were asked to end, or would be now, are killed
    Budgets budgets;
  };

  /// `settings` outlives this.
  explicit DrainGate(Settings const& settings) : settings_(settings) {}

  Next next_in_deregistering(Instant now, Facts const& facts, Bounds const& bounds);
  Next next_in_draining(Instant now, Facts const& facts, Bounds const& bounds);
  std::optional<Instant> next_deadline(Facts const& facts, Bounds const& bounds) const;
  /// Another drain begins, or none is under way any more.
  void reset();

  /// Whether everything that runs was requested to end.
  bool has_cut_all() const { return timeout_ != Cut::none; }
  /// The mode in which new requests are cancelled at once.
  std::optional<CancelMode> cancels_new() const { return mode_of(timeout_); }
  /// The same for requests of endpoints that do not hold the drain.
  std::optional<CancelMode> cancels_new_ungraceful() const {
    return timeout_ != Cut::none ? mode_of(timeout_) : mode_of(migrate_);
  }

  /// Mixes the state of a gate that is in use; call it only during a drain.
  void fingerprint(Mixer& m, Bounds const& bounds) const;

 private:
  static std::optional<CancelMode> mode_of(Cut cut);
  Next after_timeout(Instant now, Facts const& facts, Bounds const& bounds);
  void ask_to_migrate(Instant now, Bounds const& bounds);
  bool is_empty(Instant now, Facts const& facts, Bounds const& bounds) const;
  /// Whether the drain is over and nothing is known to have come since. Requests that an earlier
  /// life may have seen arrive must be proven to be gone.
  static bool is_at_rest(Facts const& facts, Bounds const& bounds);
  Instant unknown_until(Facts const& facts, Bounds const& bounds) const;
  Instant draining_from(Bounds const& bounds) const;

  Settings const& settings_;
  std::optional<Instant> deregistered_at_;
  PhaseOutcome deregister_outcome_ = PhaseOutcome::completed;
  Cut migrate_ = Cut::none;
  std::optional<Instant> migrate_kill_at_;
  Cut timeout_ = Cut::none;
};

}  // namespace lastcall::lifecycle
