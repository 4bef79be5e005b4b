// One verdict about the engine, fused from its checks and from the progress of its requests.
//
// Rules:
//  1. `starting` ends when every check has passed once (the process check is one of them where a
//     shim is known); until then no check can kill a loading engine.
//  2. A definite failure is fatal after `failure_threshold` consecutive ones; a timeout only proves
//     slowness: it is fatal after `unresponsive_after` without a passed check, and only while no
//     byte of any request has moved.
//  3. Only silence that we could have heard broken counts: after an absence of our own it is
//     counted anew.
//  4. Limits may change while it runs; checks may not.
//  5. A dead or wedged verdict is final: it changes only by reset().
//
// Owned by the core's thread. Source: the shutdown specification, 'Self-Initiated Shutdown' (health
// check every 2 s, exit 1); timeouts are kept apart because an overloaded engine answers late.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "supervisor/lifecycle/action.hpp"
#include "supervisor/lifecycle/event.hpp"
#include "supervisor/lifecycle/settings.hpp"

namespace lastcall::lifecycle {

class EngineHealth {
 public:
  struct Row {
    bool passes = false;         // until all do, in its last result; from then on for good
    std::uint32_t failures = 0;  // consecutive and definite
    std::optional<Instant> slow_since;
    CheckVerdict last = CheckVerdict::passed;
    bool seen = false;
    std::string detail;
  };

  explicit EngineHealth(HealthSettings settings);

  void check_finished(Instant now, CheckFinished const& result);
  /// What was counted so far stays counted; the next result or update() is judged anew.
  void limits_changed(HealthLimitsChanged const& limits);
  /// We were not running: the engine's silence counts from now on.
  void listen_anew(Instant now);
  /// A byte of any request moved.
  void progressed(Instant now) { progress_at_ = now; }
  /// How many requests are in flight, told at each change; `stalled_after` needs it.
  void in_flight(Instant now, std::size_t count);
  void process_running(bool running) { process_running_ = running; }
  /// Without a shim there is no process check.
  void process_known(bool known) {
    process_known_ = known;
    process_awaited_ = process_awaited_ && !known;
  }
  /// The last engine was one of a shim's, and so will the next be: until it is known, checks that
  /// pass say nothing of it.
  void await_process();
  bool awaits_process() const { return process_awaited_; }
  /// `at`: of one that started before we knew of it.
  void engine_started(Instant now, std::optional<Instant> at = {});
  /// Restored from an earlier life: `starting` was over.
  void assume_started() { assumed_ = true; }
  void reset();

  /// Evaluates what only time decides. Call after each of the above and at next_deadline().
  void update(Instant now);
  std::optional<Instant> next_deadline() const;

  Verdict verdict() const { return verdict_; }
  std::string const& reason() const { return reason_; }
  bool started() const;
  /// "nothing in flight", "work in flight, nothing moved for 1 s".
  std::string progress_text(Instant now) const;
  std::vector<Row> const& rows() const { return rows_; }
  HealthSettings const& settings() const { return settings_; }

 private:
  void judge(Verdict verdict, std::string reason);
  std::optional<Instant> unresponsive_at(Row const& row) const;
  std::optional<Instant> still_since() const;
  std::optional<Instant> stalled_at() const;
  std::optional<Instant> startup_limit() const;
  void update_alive();

  HealthSettings settings_;
  std::vector<Row> rows_;
  std::optional<Instant> progress_at_;
  std::optional<Instant> work_since_;
  std::optional<Instant> engine_started_at_;
  Instant engine_known_since_;
  bool process_running_ = false;
  bool process_known_ = false;
  bool process_awaited_ = false;
  bool assumed_ = false;
  Verdict verdict_ = Verdict::starting;
  std::string reason_ = "no check has passed yet";
};

}  // namespace lastcall::lifecycle
