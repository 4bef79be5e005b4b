// The phases of a drain or stop: which one we are in, when it ends, what is cancelled at its end.
//
//   starting -> serving -> deregistering -> draining -> drained          (a drain: reversible)
//                                                   \-> cleaning_up -> exited   (a stop: final)
//
// Invariants:
//  1. Phases only rise within one stop. A stop joins a drain under way and keeps what is finished.
//  2. One absolute deadline, fixed by the first cause; it may move closer, never away.
//  3. Nothing before phase 3 may use the reserve: at stop_cancel_at all that runs is asked to stop,
//     at kill_cancel_at it is killed and phase 3 begins.
//  4. enter() is the only writer of the phase, and kLegalMoves the only source of what is legal.
//  5. A preStop call of the engine's container bounds phases 1 and 2: by D - reserve where the pod
//     is being deleted, else by kRestartHook. It joins what is under way and fixes no deadline of
//     its own beyond that.
//
// next() tells one move at a time; the owner carries it out and asks again until there is none.
// Owned by the core's thread. Source: the shutdown specification, 'Three-Phase Process'.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/action.hpp"
#include "core/budgets.hpp"
#include "core/cause.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

/// One legal move of the phase machine; docs/architecture.md's diagram is made from this table.
struct PhaseMove {
  Phase from;
  Phase to;
  char const* why;
};

inline constexpr std::array<PhaseMove, 17> kLegalMoves{{
    {Phase::starting, Phase::serving, "every check passed once"},
    {Phase::starting, Phase::deregistering, "drain, or stop with requests in flight"},
    {Phase::starting, Phase::cleaning_up, "fatal, or stop with nothing to drain"},
    {Phase::serving, Phase::deregistering, "drain or stop"},
    {Phase::serving, Phase::cleaning_up, "fatal"},
    {Phase::deregistering, Phase::draining, "confirmed or timed out, and late_accept"},
    {Phase::deregistering, Phase::cleaning_up, "fatal"},
    {Phase::deregistering, Phase::serving, "resume"},
    {Phase::deregistering, Phase::starting, "resume before the engine was ready"},
    {Phase::draining, Phase::drained, "gate empty, no stop"},
    {Phase::draining, Phase::cleaning_up, "gate empty or cancel points"},
    {Phase::draining, Phase::serving, "resume"},
    {Phase::draining, Phase::starting, "resume before the engine was ready"},
    {Phase::drained, Phase::cleaning_up, "stop"},
    {Phase::drained, Phase::serving, "resume"},
    {Phase::drained, Phase::starting, "resume before the engine was ready, or container restart"},
    {Phase::cleaning_up, Phase::exited, "list done and engine gone, or deadline"},
}};

/// How an earlier phase of this stop went.
struct PhaseRecord {
  PhaseOutcome outcome = PhaseOutcome::skipped;
  Duration elapsed{};
};

/// What the gate of phase 2 is judged by.
struct Facts {
  bool registries_settled = true;
  bool registries_confirmed = true;
  /// Somebody reports requests: an SDK peer or the ingress.
  bool in_flight_known = true;
  /// The engine's own gauges said zero twice.
  bool gauges_idle = false;
  /// When they last said that something runs or waits.
  std::optional<Instant> gauges_busy_at;
  /// There are such gauges.
  bool has_gauges = false;
  /// Peers of an earlier life are still expected back: no gate counts as empty.
  bool recovering = false;
  std::size_t graceful = 0;    // requests on graceful endpoints
  std::size_t ungraceful = 0;  // requests on the others
};

enum class Move : std::uint8_t {
  none,
  enter_draining,
  stop_ungraceful,  // reason migrate
  kill_ungraceful,
  stop_all,  // reason grace_timeout
  kill_all,
  enter_drained,
  end_drained,  // what came late into `drained` is done too
  enter_cleaning_up,
};

class ShutdownCoordinator {
 public:
  struct Stop {
    Cause cause;
    StopMode mode = StopMode::graceful;
    Instant cause_at;
    Instant deadline;
    bool in_starting = false;  // there was nothing to drain
  };
  /// The engine's container is being stopped: its first preStop call.
  struct Hook {
    Instant called_at;
    bool deletion = false;          // the pod goes too
    bool began_drain = false;       // nobody else has asked for the drain
    std::optional<Duration> grace;  // of that deletion, where it was read; told by progress() alone
    friend bool operator==(Hook const&, Hook const&) = default;
  };
  /// What a restarted supervisor needs to go on.
  struct Progress {
    Phase phase = Phase::starting;
    Instant phase_began;
    std::optional<Stop> stop;
    std::optional<Instant> drain_limit;
    PhaseRecord deregistering;
    PhaseRecord draining;
    std::optional<Hook> hook;
  };

  /// How far phases 1 and 2 are: what was asked of the registries and of the requests.
  struct Gate {
    std::optional<Instant> deregistered_at;
    PhaseOutcome deregister_outcome = PhaseOutcome::completed;
    bool migrate_asked = false;
    bool migrate_killed = false;
    std::optional<Instant> migrate_kill_at;
    bool timeout_asked = false;
    bool timeout_killed = false;
    std::optional<Instant> timeout_kill_at;
  };

  /// `settings` outlives this.
  explicit ShutdownCoordinator(Settings const& settings);

  /// The first instant of this life.
  void started(Instant now) { phase_began_ = now; }
  void become_ready(Instant now);
  void begin_drain(Instant now, std::optional<Duration> timeout);
  /// A drain or stop under way gets a limit, or an earlier one. False: it changed nothing.
  bool limit_drain(Instant now, Duration timeout);
  /// Bounds the drain or stop under way, from its first call on; a later one changes nothing.
  /// `began_drain`: the drain is this call's own.
  void begin_hook(Instant now, bool began_drain);
  /// Somebody else wants the drain, too: it does not end with the hook.
  void drain_is_asked_for();
  /// An earlier life was called already: what bounds the drain counts from its first call, within
  /// the grace that it had read. True: the deadline of the stop under way moved closer.
  bool hook_was_called(Hook const& earlier);
  /// The pod is being deleted: the hook's bound moves to the one of a stop.
  void hook_explained();
  /// Its calls have returned: it bounds nothing any more.
  void end_hook() { hook_done_ = true; }
  /// Nobody's container is being stopped any more.
  void forget_hook() { hook_.reset(); }
  /// The engine ends without a stop of ours: wait for the next one.
  void await_replacement(Instant now);
  /// Not to be called when is_stopping(). `has_work`: requests are in flight, so that there is
  /// something to drain even in `starting`.
  void begin_stop(Instant now, Cause cause, StopMode mode, Instant cause_at, bool has_work,
                  std::optional<Duration> timeout = std::nullopt);
  /// A fatal event during a graceful stop: the deadline moves closer, the drain ends.
  void abort_drain(Instant now, Duration within);
  /// The stop has to end by `deadline` too; false: it does anyway.
  bool limit_deadline(Instant deadline);
  /// The pod's grace is no more than this. True: the deadline of the stop under way moved closer.
  bool limit_grace(Duration grace);
  void resume(Instant now, bool ready);
  void finish(Instant now);
  void restore(Instant now, Progress const& progress);
  void rearm(Instant now);
  /// SDK cleanup or hooks will want their time: a shorter reserve begins earlier for them.
  void expect_acks_or_hooks(bool expected);

  Move next(Instant now, Facts const& facts);
  std::optional<Instant> next_deadline(Facts const& facts) const;

  Phase phase() const { return phase_; }
  Instant phase_began() const { return phase_began_; }
  bool is_stopping() const { return stop_.has_value(); }
  /// Between the first move of a drain and its end.
  bool is_draining() const;
  /// New requests are refused from here on.
  bool refuses() const;
  /// New requests of endpoints that do not hold the drain are cancelled at once, in this mode.
  std::optional<CancelMode> cancels_new_ungraceful() const;
  std::optional<CancelMode> cancels_new() const;
  std::optional<Stop> const& stop() const { return stop_; }
  std::optional<Instant> deadline() const;
  Budgets budgets() const;
  /// Of a stop by a cause at that time: what preStop has used of the pod's grace is gone.
  Budgets budgets_of(Instant cause_at) const;
  std::optional<Hook> const& hook() const { return hook_; }
  /// Where the hook's call returns at the latest.
  std::optional<Instant> hook_limit() const;
  /// Phases 1 and 2 are behind us: a call may return.
  bool hook_is_done() const;
  std::optional<Instant> deregister_limit() const;
  Progress progress() const;
  std::optional<Instant> drain_limit() const { return drain_limit_; }
  /// With the grace of the deletion, where it was read.
  std::optional<Hook> told_hook() const;
  PhaseRecord const& record(Phase phase) const { return records_[static_cast<std::size_t>(phase)]; }
  Gate const& gate() const { return gate_; }
  std::optional<Instant> restored_at() const { return restored_at_; }
  void fingerprint(Mixer& m) const;
  /// Set by the last enter(): what the log says about the phase that ended.
  std::optional<PhaseEnded> take_ended();

 private:
  void enter(Instant now, Phase phase, PhaseOutcome outcome_of_last);
  void skip_to_cleanup(Instant now);
  void keep_reserve();
  Budgets with_cleanup(Budgets const& budgets) const;
  Move next_in_deregistering(Instant now, Facts const& facts);
  Move next_in_draining(Instant now, Facts const& facts);
  Move next_after_timeout(Instant now, Facts const& facts);
  Move end_draining(Instant now, PhaseOutcome outcome);
  bool gate_is_empty(Instant now, Facts const& facts) const;
  bool came_late(Facts const& facts) const;
  bool is_at_rest(Facts const& facts) const;
  Instant unknown_until(Facts const& facts) const;
  std::optional<Instant> stop_cancel_point() const;
  /// What was asked to end is killed here, where phase 2 ends at the latest.
  std::optional<Instant> kill_cancel_point() const;
  Instant draining_from() const;

  Settings const& settings_;
  Phase phase_ = Phase::starting;
  Instant phase_began_{};
  std::optional<Stop> stop_;
  Budgets stop_budgets_;
  bool acks_or_hooks_ = false;
  std::optional<Duration> pod_grace_;
  Budgets drain_budgets_;          // of a drain without a deadline
  Budgets const restart_budgets_;  // of a hook that no deletion explains
  std::optional<Hook> hook_;
  bool hook_done_ = false;  // its drain has ended
  std::optional<Instant> drain_limit_;
  std::optional<Instant> restored_at_;  // where an earlier life was
  Gate gate_;
  std::array<PhaseRecord, 7> records_{};
  std::optional<PhaseEnded> ended_;
};

}  // namespace lastcall::lifecycle
