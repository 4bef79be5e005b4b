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
//  6. A canary is a request of our own that only a working engine can answer. Its answer is
//     progress; an unanswered one is silence like that of a check, and wedged where it is fatal,
//     because checks that pass meanwhile do not disprove it.
//  7. Between alive and fatal an engine that has started may be `unresponsive`, which can be undone
//     (responsiveness.hpp).
//  8. Live tokens that stand still are fatal without a configured limit, too: after four times the
//     longest wait for a first token that was seen, kStallLimit at the least, and kStallUnknown
//     where none was seen or the gauges show no work. A reading proves it, no clock.
//
// Owned by the core's thread. Source: specification, 'Checks'; specification,
// 'Slow and wedged'. Timeouts are kept apart because an overloaded engine answers late.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/mixer.hpp"
#include "core/responsiveness.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

inline constexpr Duration kStallLimit{120'000};
inline constexpr Duration kStallUnknown{300'000};

/// A reading of the engine's gauges that had its live tokens.
struct TokensRead {
  Instant at;
  bool with_work = false;
};

class EngineHealth {
 public:
  struct Row {
    bool passes = false;                // until all do, in its last result; from then on for good
    std::uint32_t failures = 0;         // consecutive and definite
    std::optional<Instant> slow_since;  // its first timeout since it passed
    std::optional<Instant> unanswered_since;  // when that one was asked
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
  /// A request waited so long for its first token.
  void first_token(Duration waited) { responsiveness_.first_token(waited); }
  /// A reading of the engine's gauges: whether the counter of its tokens was in it, and work.
  void gauges_read(Instant now, bool with_tokens, bool with_work);
  /// One of the engine's processes is stopped (state T): nothing is expected of it until it is
  /// heard. `name` is for the reason. `will_be_asked`: a canary will show whether it goes on.
  void process_stopped(Instant now, std::string name, bool will_be_asked = false);
  /// A canary is under way. One that follows an unanswered one adds to the same silence.
  void canary_sent(Instant now);
  /// It was answered as only a working engine can.
  void canary_answered(Instant now);
  /// It ended in a way that proves nothing: neither silence nor progress.
  /// Refused, it will be the next time: nobody is to wait for its proof.
  void canary_dropped(bool is_refused = false);
  bool waits_for_canary() const { return canary_since_.has_value(); }
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
  /// A process that it cannot be without has died.
  void condemn(std::string reason) { judge(Verdict::dead, std::move(reason)); }
  /// Restored from an earlier life: it was unresponsive.
  void assume_silent(Instant now, Silence silence) { responsiveness_.restore(now, silence); }
  void reset();

  /// Evaluates what only time decides. Call after each of the above and at next_deadline().
  void update(Instant now);
  std::optional<Instant> next_deadline() const;

  Verdict verdict() const { return verdict_; }
  std::string const& reason() const { return reason_; }
  Responsiveness const& responsiveness() const { return responsiveness_; }
  /// How long work has been in flight of which nothing moved; zero where there is none.
  Duration still_for(Instant now) const;
  bool started() const;
  /// "nothing in flight", "work in flight, nothing moved for 1 s".
  std::string progress_text(Instant now) const;
  void fingerprint(Mixer& m) const;
  std::vector<Row> const& rows() const { return rows_; }
  HealthSettings const& settings() const { return settings_; }

 private:
  void judge(Verdict verdict, std::string reason);
  std::optional<Instant> unresponsive_at(Row const& row) const;
  std::optional<Instant> still_since() const;
  std::optional<Instant> stalled_at() const;
  std::optional<Instant> canary_lost_at() const;
  std::optional<Instant> startup_limit() const;
  void update_alive();
  Responsiveness::Heard heard() const;
  std::string silence_text() const;

  HealthSettings settings_;
  std::vector<Row> rows_;
  std::optional<Instant> progress_at_;
  std::optional<Instant> work_since_;
  std::optional<Instant> idle_since_;
  std::optional<Instant> canary_since_;  // the first of those that nothing has answered
  std::optional<Instant> check_at_;      // the last one that passed
  std::optional<TokensRead> tokens_;     // of the last reading
  Responsiveness responsiveness_;
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
