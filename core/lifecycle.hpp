// The pure core: facts of the world in, orders to the world out. Same events, same actions.
// It composes the machines of this folder (docs/architecture.md has them in a table) and
// applies the joint rules between them in one place, apply_joint_rules(). No machine calls another.
//
// Invariants, each held by simulation and exploration in tests/simulation:
//  1. Exit is ordered exactly once per shim boot, and by the deadline.
//  2. Phases only rise within a stop; the reserve is untouched by earlier phases.
//  3. Cause and outcome give the exit code by the table in exit_code.hpp.
//  4. Each request ends exactly once and is counted once.
//  5. Deregistration is asked before any stop signal to the engine.
//  6. Nothing is ordered after the exit.
//  7. While a stop is under way a connected shim has a will that says what holds now.
//
// No I/O, no clock, no thread, no log. One thread owns it; the shell passes `now`, obeys the
// actions in order and calls again with TimerExpired at next_deadline().
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/action.hpp"
#include "core/admission.hpp"
#include "core/awaiting.hpp"
#include "core/cleanup_sequence.hpp"
#include "core/cut_requests.hpp"
#include "core/deletion_evidence.hpp"
#include "core/endpoint_tracker.hpp"
#include "core/engine_health.hpp"
#include "core/engine_tree.hpp"
#include "core/event.hpp"
#include "core/gauge_evidence.hpp"
#include "core/load_monitor.hpp"
#include "core/own_restart.hpp"
#include "core/recent_errors.hpp"
#include "core/report.hpp"
#include "core/request_ledger.hpp"
#include "core/settings.hpp"
#include "core/shutdown_coordinator.hpp"
#include "core/token_probe.hpp"

namespace lastcall::lifecycle {

class Lifecycle {
 public:
  explicit Lifecycle(Settings settings);
  /// A copy goes on from the same state by itself: for the exploration of what may come next.
  Lifecycle(Lifecycle const&) = default;
  Lifecycle& operator=(Lifecycle const&) = delete;

  /// The whole input. The span and the views in it are valid until the next call.
  std::span<Action const> step(Instant now, Event const& event);
  /// When step(TimerExpired) is due; absent: only an event can change anything.
  std::optional<Instant> next_deadline() const;

  Snapshot snapshot() const;
  /// Final once PublishReport was ordered; before that, what is known so far.
  Report report(Instant now) const;
  /// Cancels that wait for a peer (after CancelsReady); they count as handed over.
  CancelBatch take_cancels(PeerId peer, std::size_t max_ids);
  /// We were told to end, and the engine was not.
  bool is_restarting() const { return own_restart_.has_value(); }
  /// A shim of this boot may take part now; otherwise it is told `busy` and tries again.
  bool accepts_shim(std::string_view boot) const;

  EndpointTracker const& endpoints() const { return endpoints_; }
  RequestLedger const& requests() const { return ledger_; }
  CutRequests const& cut_requests() const { return cut_; }
  EngineHealth const& health() const { return health_; }
  LoadMonitor const& loads() const { return loads_; }
  Admission const& admission() const { return admission_; }
  Settings const& settings() const { return settings_; }
  std::vector<RegistryRecord> const& registries() const { return registries_; }
  /// The shortest that phase 1 can be.
  Duration late_accept() const { return coordinator_.budgets().late_accept; }
  std::optional<Instant> deregister_limit() const { return coordinator_.deregister_limit(); }
  /// SDK peers of an earlier life have until then to come back; absent: none is missing.
  std::optional<Instant> peers_expected_until() const { return peers_until_; }
  /// A hash of all that decides what comes next, with instants relative to `now`: two cores of the
  /// same fingerprint behave alike, save for what they report. For the exploration of states.
  std::uint64_t fingerprint(Instant now) const;

 private:
  struct Shim {
    std::string boot;
    bool connected = false;
    bool run = false;
    bool gone = false;
    bool oom = false;
    std::optional<Instant> lost_at;
  };
  struct Peer {
    std::string name;
    bool critical = false;
    bool connected = true;
    bool source = false;
    bool watched = false;
    std::uint32_t announced = 0;  // live requests its hello promised
    std::uint32_t resumed = 0;
    bool cleanup_pending = false;
    std::optional<Instant> unclean_at;  // it went away before its cleanup.done: back until then
    std::optional<Instant> lost_at;
  };
  /// What Remember depends on; compared at the end of each step.
  struct RememberedKey {
    Phase phase = Phase::starting;
    bool stopping = false;
    std::optional<Instant> deadline;
    std::optional<Instant> drain_limit;
    std::uint32_t cleanup_step = 0;
    std::uint32_t sdk_peers = 0;
    bool died_with_work = false;
    bool engine_killed = false;
    std::optional<ShutdownCoordinator::Hook> hook;
    bool condemned = false;
    Silence silence = Silence::none;
    bool operator==(RememberedKey const&) const = default;
  };

  // One handler an event (lifecycle_stop.cpp, _hooks.cpp, _engine.cpp, _peers.cpp, _admission.cpp).
  void on(Instant now, SupervisorStarted const&);
  void on(Instant now, StopRecordRead const&);
  void on(Instant now, OwnSignal const&);
  void on(Instant now, DeletionSeen const&);
  void on(Instant now, EngineStopHook const&);
  void on(Instant now, EngineReplaced const&);
  void on(Instant now, TimerExpired const&);
  void on(Instant now, ShimHello const&);
  void on(Instant now, ShimDisconnected const&);
  void on(Instant now, ShimGone const&);
  void on(Instant now, StopSignalHeld const&);
  void on(Instant now, EngineStarted const&);
  void on(Instant now, EngineExited const&);
  void on(Instant now, EngineTreeSeen const&);
  void on(Instant now, EngineProcessDied const&);
  void on(Instant now, EngineProcessStopped const&);
  void on(Instant now, DrainRequested const&);
  void on(Instant now, ResumeRequested const&);
  void on(Instant now, CancelRequested const&);
  void on(Instant now, PeerConnected const&);
  void on(Instant now, PeerDisconnected const&);
  void on(Instant now, PeerGone const&);
  void on(Instant now, EndpointRegistered const&);
  void on(Instant now, EndpointUnregistered const&);
  void on(Instant now, RequestBegun const&);
  void on(Instant now, RequestEnded const&);
  void on(Instant now, RequestProgressed const&);
  void on(Instant now, CancelConfirmed const&);
  void on(Instant now, PeerFatal const&);
  void on(Instant now, PeerCleanedUp const&);
  void on(Instant now, LoadReported const&);
  void on(Instant now, AdmissionLimitsChanged const&);
  void on(Instant now, LoadThresholdsChanged const&);
  void on(Instant now, CheckFinished const&);
  void on(Instant now, HealthLimitsChanged const&);
  void on(Instant now, GaugesRead const&);
  void on(Instant now, TokenSent const&);
  void on(Instant now, TokenAnswered const&);
  void on(Instant now, RegistrySettled const&);
  void on(Instant now, CleanupSettled const&);

  // Joint rules (lifecycle.cpp).
  void apply_joint_rules(Instant now);
  bool apply_verdict(Instant now);
  bool apply_readiness(Instant now);
  void apply_silence(Instant now);
  bool apply_hook(Instant now);
  bool apply_move(Instant now, Move move);
  bool apply_token(Instant now);
  bool apply_cleanup(Instant now);
  void apply_timers(Instant now);
  void apply_own_restart(Instant now);
  void announce();
  void note_phase_change();
  void drain_ledger(Instant now);
  void tell_endpoints();
  void progressed(Instant now);
  /// What the report tells of the drain or stop that begins is counted from now on.
  void count_anew();
  void note_cut_work();
  void remember_if_changed();
  void leave_will_if_changed();
  // Admission (lifecycle_admission.cpp).
  std::optional<RejectedReason> refusal_of(Instant now, RequestBegun const& request) const;
  bool load_refuses(Instant now) const;
  void refuse_new(Instant now, RequestBegun const& request, RejectedReason why);
  Reject rejection(Instant now, PeerId peer, std::string_view id, RejectedReason why);
  bool admit_newest(Instant now, RequestBegun const& request, bool asks, bool is_part);
  void grant_waiters(Instant now);
  void refuse_waiter(Instant now, RequestLedger::Index index, RejectedReason why);
  void refuse_waiters(Instant now);
  void apply_admission_time(Instant now);
  void cancel_all(Instant now, CancelMode mode, CancelReason reason);
  std::optional<Instant> admission_deadline() const;
  AdmissionState admission_state() const;
  // Verbs.
  void stop(Instant now, Cause cause, StopMode mode, Instant cause_at,
            std::optional<Duration> timeout = std::nullopt);
  void fatal(Instant now, CauseKind kind, std::string detail);
  void signal_ignored(std::string const& name);
  void heed_second_signal(Instant now, std::string const& name, bool may_force);
  void register_everywhere();
  void assume_earlier_registration();
  void deregister_everywhere(Instant now, bool returns = false);
  void assume_withdrawn();
  void begin_cleanup(Instant now, std::uint32_t first_step);
  void start_cleanup_item(Instant now, CleanupItem item, Instant deadline);
  void settle_sdk_cleanup(Instant now);
  void note_unclean(Peer& peer);
  void take_over_cleanup(std::string_view name);
  void finish(Instant now);
  void end_supervisor_or_rearm(Instant now);
  void rearm(Instant now);
  void note_deletion();
  std::optional<Instant> deletion_disproved_at() const;
  bool apply_disproof(Instant now);
  bool release_hook(Instant now);
  void await_replacement(Instant now, Awaiting awaiting);
  void end_awaiting(std::string how);
  void engine_exited(Instant now, EngineExited const& exited, std::optional<Instant> at);
  void shim_lost(Instant now);
  void stop_for_held_signal(Instant now, ShimHello const& hello);
  void heed_earlier_signal(Instant at);
  void resume_shim(Instant now, bool ordered);
  void judge_rest(Instant now, Instant at, std::optional<std::uint32_t> alive);
  Instant rest_gone_at(Instant now, std::optional<std::uint32_t> alive) const;
  std::optional<Instant> rest_gone_by() const;
  void apply_rest(Instant now);
  void essential_died_in_stop(Instant now);
  std::string with_first_death(Instant now, std::string detail) const;
  void judge_unordered_exit(Instant now, CauseKind kind, std::string detail);
  bool has_too_many(RequestBegun const& request) const;
  void cancel_late(Instant now, RequestBegun const& request, EndpointSlot slot);
  bool hold_until_recovered(Event const& event);
  void apply_held(Instant now);
  void answer(bool changed);
  void restore(Instant now, std::string const& blob, bool stop_follows);
  void restore_progress(Instant now, Remembered remembered, bool stop_follows);
  void withdraw_earlier_life(Instant now, Phase its_phase);
  Instant cleanup_limit() const;
  Instant cancels_out_by() const;
  Report make_report(Instant now) const;
  void lose_peer(Instant now, PeerId peer, bool process_gone);
  void expire_peers(Instant now);

  Facts facts() const;
  TokenProbe::Facts token_facts() const;
  bool in_flight_known() const;
  /// The engine's own word proves that nothing is in it.
  bool engine_proves_idle() const;
  bool ingress_counts() const;
  /// Somebody knows that nothing is in flight, and nothing went down in this drain.
  bool is_known_idle() const;
  /// Requests of this drain went down with a process; its end may be seen before the engine's.
  bool work_was_lost() const { return outcomes_[static_cast<std::size_t>(Outcome::lost)] > 0; }
  bool engine_is_live() const;
  /// It serves, and its engine answers nobody: nothing new should come until it is heard.
  bool is_silent() const;
  /// SDK peers are there, or expected back, that phase 3 will ask to clean up.
  bool sdk_may_clean_up() const;
  bool engine_is_leaving() const;
  bool hook_has_returned() const { return coordinator_.hook() && hook_is_answered_; }
  bool has_own_container() const { return shim_ ? !shim_->run : restored_own_container_; }
  InFlightSource source() const;
  /// As many as anybody can tell.
  std::size_t in_flight_told() const;
  std::uint32_t sdk_peers() const;
  bool peers_are_back() const;
  int exit_code_now() const;
  RememberedKey remembered_key() const;
  template <typename T>
  void act(T&& action) {
    actions_.emplace_back(std::forward<T>(action));
  }

  std::shared_ptr<Settings const> settings_owner_;  // one for all copies
  Settings const& settings_ = *settings_owner_;
  ShutdownCoordinator coordinator_{settings_};
  CleanupSequence cleanup_;
  EndpointTracker endpoints_;
  RequestLedger ledger_;
  CutRequests cut_;
  EngineHealth health_{settings_.health};
  Admission admission_{settings_.admission};
  LoadMonitor loads_{settings_.load};
  std::vector<Action> actions_;

  std::optional<Shim> shim_;
  EngineState engine_ = EngineState::waiting;
  EngineExit engine_exit_;
  std::optional<Instant> engine_gone_at_;
  EngineTree tree_;
  bool engine_ordered_ = false;
  bool engine_killed_ = false;
  bool died_with_work_ = false;
  bool aborted_with_work_ = false;  // a fatal event ended the drain in the middle of its work

  std::map<PeerId, Peer> peers_;
  std::vector<std::string> left_unclean_;  // names of peers that phase 3 asked and that went away
  bool last_source_gone_ = false;
  bool ingress_has_relayed_ = false;
  GaugeEvidence gauges_{settings_.gauge_refresh, settings_.load_counts};
  TokenProbe token_{settings_.token};
  std::vector<RegistryRecord> registries_;
  bool registered_ = false;

  std::optional<Instant> recovery_until_;  // before it, an unknown supervisor registers nothing
  bool recovered_ = false;
  std::vector<Event> held_;  // commands that came before we knew of an earlier life
  bool replaying_held_ = false;
  bool decided_ = false;  // a command of this life, or its pod's, outranks a remembered drain
  std::string restored_boot_;
  bool restored_own_container_ = false;
  std::optional<Instant> peers_until_;  // before it, no gate counts as empty
  std::uint32_t expected_peers_ = 0;
  bool record_kept_ = false;  // a stop.json may exist

  bool own_signal_ = false;
  bool rests_ = false;  // a stop is over, and no shim has come since
  DeletionEvidence deletion_;
  std::optional<Instant> hook_waits_since_;  // the first preStop call that has not returned
  bool hook_is_answered_ = false;            // this container's stop: its calls have returned
  std::optional<Awaiting> awaiting_;
  std::optional<OwnRestart> own_restart_;
  bool supervisor_ended_ = false;
  Verdict told_verdict_ = Verdict::starting;
  std::uint32_t told_graceful_ = 0;
  bool told_busy_ = false;
  bool endpoint_awaited_ = false;  // its completion is still to be told
  std::uint64_t ignored_signals_ = 0;
  OutcomeCounts outcomes_{};
  RecentErrors recent_errors_;
  Duration longest_request_{};
  std::optional<std::uint64_t> in_flight_at_end_;  // of a drain that its time has ended
  std::size_t late_ = 0;
  std::optional<RememberedKey> remembered_;
  std::optional<LeaveWill> will_;  // as this connection of the shim has it
  std::optional<Report> final_report_;
};

}  // namespace lastcall::lifecycle
