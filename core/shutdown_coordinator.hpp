// A drain or stop from its cause to its end: the current phase, when it ends, and what is cut at
// its end.
//
// Invariants:
//  1. Phases move only by the table of phase_table.hpp. A stop joins a drain under way and keeps
//     what is finished.
//  2. One absolute deadline, fixed by the first cause (stop_clock.hpp).
//  3. Nothing before phase 3 may use the reserve: at stop_cancel_at everything that runs is
//     requested to stop, at kill_cancel_at it is killed and phase 3 begins (drain_gate.hpp).
//
// next() returns one move at a time; the owner carries it out and asks again until there is none.
// Owned by the core's thread. Source: specification, 'Lifecycle'.
#pragma once

#include <cstdint>
#include <optional>

#include "core/drain_gate.hpp"
#include "core/mixer.hpp"
#include "core/phase_machine.hpp"
#include "core/settings.hpp"
#include "core/stop_clock.hpp"

namespace lastcall::lifecycle {

enum class Move : std::uint8_t {
  none,
  enter_draining,
  stop_ungraceful,  // reason migrate
  kill_ungraceful,
  stop_all,  // reason grace_timeout
  kill_all,
  enter_drained,
  end_drained,  // requests that came late into `drained` are done, too
  enter_cleaning_up,
};

class ShutdownCoordinator {
 public:
  using Stop = StopClock::Stop;
  /// The state that a restarted supervisor needs to go on.
  struct Progress {
    Phase phase = Phase::starting;
    Instant phase_began;
    std::optional<Stop> stop;
    std::optional<Instant> drain_limit;
    PhaseRecord deregistering;
    PhaseRecord draining;
    std::optional<HookBound::Hook> hook;
  };

  /// `settings` outlives this.
  explicit ShutdownCoordinator(Settings const& settings);

  /// The first instant of this life.
  void started(Instant now) { phases_.started(now); }
  void become_ready(Instant now);
  void begin_drain(Instant now, std::optional<Duration> timeout);
  /// Gives a drain or stop under way a limit, or an earlier one. Returns false if that changes
  /// nothing.
  bool limit_drain(Instant now, Duration timeout);
  /// Must not be called when is_stopping(). `has_work`: requests are in flight, so that there is
  /// something to drain even in `starting`.
  void begin_stop(Instant now, Cause cause, StopMode mode, Instant cause_at, bool has_work,
                  std::optional<Duration> timeout = std::nullopt);
  /// A fatal event during a graceful stop moves the deadline closer and ends the drain.
  void abort_drain(Instant now, Duration within);
  void resume(Instant now, bool ready);
  /// The engine ends without a stop, and the next one is awaited.
  void await_replacement(Instant now);
  void finish(Instant now);
  void rearm(Instant now);
  void restore(Instant now, Progress const& progress);
  Progress progress() const;

  Move next(Instant now, Facts const& facts);
  std::optional<Instant> next_deadline(Facts const& facts) const;

  Phase phase() const { return phases_.phase(); }
  bool is_stopping() const { return clock.stop().has_value(); }
  std::optional<Stop> const& stop() const { return clock.stop(); }
  std::optional<Instant> deadline() const;
  PhaseMachine const& phases() const { return phases_; }
  /// The log's note about the phase that ended, set by the last move.
  std::optional<PhaseEnded> take_ended() { return phases_.take_ended(); }
  /// The mode in which a new request is cancelled at once, if it is. `ungraceful`: its endpoint
  /// does not hold the drain.
  std::optional<CancelMode> cancels_new(bool ungraceful) const;

  void fingerprint(Mixer& m) const;

  /// The bounds of the drain or stop.
  StopClock clock;

 private:
  void reset_gate(bool keeps_limit = false);
  /// Whether the drain is over, unless a stop or a hook waits for late requests.
  bool rests() const;
  DrainGate::Bounds bounds(Instant now) const;
  Move carry_out(Instant now, DrainGate::Next next);

  PhaseMachine phases_;
  DrainGate gate_;
};

}  // namespace lastcall::lifecycle
