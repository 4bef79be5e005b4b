// One verdict about the engine, fused from its checks and from the progress of its requests.
//
// Rules:
//  1. Until the engine has started (engine_startup.hpp) no check can kill it.
//  2. Consecutive definite failures are fatal (check_board.hpp). A timeout only proves slowness: it
//     is fatal after `unresponsive_after` without a passed check, and only while no byte of any
//     request has moved (progress_watch.hpp).
//  3. Silence counts only if its end could have been received: after an absence of the supervisor
//     it counts from zero again.
//  4. Limits may change while it runs; checks may not.
//  5. A dead or wedged verdict is final: it changes only by reset().
//  6. A canary is a request of our own that only a working engine can answer. Its answer is
//     progress. An unanswered canary is silence like that of a check; where it is fatal, the
//     verdict is wedged, because checks that pass meanwhile do not disprove it.
//  7. Between alive and fatal an engine that has started may be `unresponsive`, which can be undone
//     (responsiveness.hpp).
//  8. If the count of live tokens stalls, this is fatal even without a configured limit:
//     after four times the longest wait for a first token that was seen, but at least kStallLimit,
//     or kStallUnknown if no first token was seen or the gauges show no work. Only a reading of the
//     gauges proves this; the passing of time does not.
//
// Owned by the core's thread. Source: specification, 'Checks'; specification,
// 'Slow and wedged'. Timeouts are kept apart because an overloaded engine answers late.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/action.hpp"
#include "core/canary_silence.hpp"
#include "core/check_board.hpp"
#include "core/engine_startup.hpp"
#include "core/event.hpp"
#include "core/mixer.hpp"
#include "core/progress_watch.hpp"
#include "core/responsiveness.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

inline constexpr Duration kStallLimit{120'000};
inline constexpr Duration kStallUnknown{300'000};

class EngineHealth {
 public:
  explicit EngineHealth(HealthSettings settings);

  void check_finished(Instant now, CheckFinished const& result);
  /// Counts so far stay; the next result or update() applies the new limits.
  void limits_changed(HealthLimitsChanged const& limits);
  /// The supervisor was not running, so the engine's silence counts from now on.
  void restart_silence(Instant now);
  /// One of the engine's processes is stopped (state T), and no work is expected of it until it
  /// answers. `name` is used in the reason. `will_be_asked`: a canary will show whether the process
  /// runs again.
  void process_stopped(Instant now, std::string name, bool will_be_asked = false);
  /// The next engine will be started by a shim; until it is known, checks that pass prove nothing
  /// about it.
  void await_process();
  /// An essential process has died.
  void condemn(std::string reason) { judge(Verdict::dead, std::move(reason)); }
  void reset();

  /// Evaluates what only time decides. Call it after each of the above and at next_deadline().
  void update(Instant now);
  std::optional<Instant> next_deadline() const;

  Verdict verdict() const { return verdict_; }
  std::string const& reason() const { return reason_; }
  bool started() const;
  std::vector<CheckBoard::Row> const& rows() const { return checks_.rows(); }
  HealthSettings const& settings() const { return settings_; }
  void fingerprint(Mixer& m) const;

  ProgressWatch progress;
  EngineStartup startup;
  Responsiveness responsiveness;

 private:
  void judge(Verdict verdict, std::string reason);
  Duration stall_limit() const;
  Duration canary_limit() const;
  std::optional<Instant> stalled_at() const;
  std::optional<Instant> canary_lost_at() const;
  void update_alive();
  Responsiveness::Signs signs() const;

  HealthSettings settings_;
  CheckBoard checks_;
  Verdict verdict_ = Verdict::starting;
  std::string reason_ = "no check has passed yet";
};

/// A token is progress. An answer that proves nothing is neither silence nor progress. A refused
/// request would be refused the next time as well, so nothing should wait for its proof.
void canary_answered(EngineHealth& health, Instant now, CanarySilence::Answer answer);

}  // namespace lastcall::lifecycle
