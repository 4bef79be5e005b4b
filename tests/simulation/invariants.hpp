// What must hold in every lifecycle, whatever the world does. Checked after each step of the core.
//
// The checker keeps its own, simpler model of the requests, the engine and the stop, made from the
// events alone; it never asks the core what is right, only what it did. Its rules:
//
//  order    nothing after the exit; Remember first in its step; deregistered before any signal;
//           the shim has a will that is true before anything of a stop is announced;
//           KILL after TERM and not before its time; phases move by kPhaseTable and only rise
//  time     D is cause + total and only moves closer; the stop has ended at D; phase 3 has its
//           reserve; the next deadline is never past; an expired timer always makes progress
//  admission  never more than N granted, Q wait, in their order; each waiter gets one answer;
//           gauges alone refuse nobody while nothing runs
//  token    one request of our own is out at a time, to an engine that was ready and runs; nothing
//           is taken for idle by gauges alone
//  silence  an engine that answers nobody is registered nowhere and gets no new request, and every
//           other that serves is registered; at most one such fall in kSilenceCycle
//  gate     phase 2 ends when nothing graceful is in flight, or at the cancel points
//  requests each is in flight until it ends once; counted once; a cancel's mode only rises
//  exit     once for each boot and connection, with the code that the table says
//  preStop  each call is released once, by its bound, with nothing left that runs; it begins no
//  stop
//           and ends no process; an engine that is to go does not serve
//  memory   a restarted supervisor has the same cause, the same deadline, no earlier phase
//
// One thread owns it. Source: the shutdown specification; invariants of lifecycle.hpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/lifecycle.hpp"
#include "core/remembered.hpp"
#include "tests/simulation/world.hpp"

namespace lastcall::simulation {

/// What a step lets a later life know, read back as that life would; empty where it orders nothing.
std::optional<lifecycle::Remembered> remembered_by(std::span<lifecycle::Action const> actions);

/// One step, as the checker sees it.
struct StepView {
  Instant now;
  lifecycle::Event const& event;
  std::span<lifecycle::Action const> actions;
  lifecycle::Lifecycle const& core;
  lifecycle::Snapshot const& after;  // the core's, once for all checks
  std::span<Delivered const> delivered;
  std::optional<lifecycle::Remembered> remembered = remembered_by(actions);
};

/// The requests that are in flight, from the events alone.
class RequestOracle {
 public:
  /// With admission: it has a place, is part of one that has, waits, or was cancelled in the queue.
  enum class Stands : std::uint8_t { place, part, waiting, withdrawn };
  struct Live {
    std::string endpoint;
    bool counted = true;
    std::optional<lifecycle::CancelMode> delivered;
    bool asked = false;
    Stands stands = Stands::place;
    Instant arrived{};
    std::uint8_t priority = lifecycle::kUsualPriority;
    std::uint64_t order = 0;
  };

  void new_life() { *this = RequestOracle{}; }
  /// Empty when all is right.
  std::string check(StepView const& step, lifecycle::Phase before, Duration reconnect_window);

  std::size_t in_flight() const { return live_.size(); }
  std::size_t graceful_in_flight() const;
  /// A peer reports requests.
  bool known() const { return !sources_.empty() || !live_.empty(); }
  /// The next stop is judged by what it sees itself.
  void rearm() { source_died_ = false, lost_ = 0; }
  /// Users' requests that were lost since the drain or stop began.
  std::uint64_t lost() const { return lost_; }
  void begin_counting(std::uint64_t lost) { lost_ = lost; }
  /// A source's process ended: what it had is known to be gone.
  bool source_died() const { return source_died_; }

 private:
  using Key = std::pair<lifecycle::PeerId, std::string>;

  void apply(StepView const& step, lifecycle::Phase before);
  void apply_begin(StepView const& step, lifecycle::RequestBegun const& begun);
  Live const* named(lifecycle::PeerId peer, std::string const& id) const;
  Live const* whole_of(lifecycle::RequestBegun const& begun) const;
  bool is_late(StepView const& step, lifecycle::RequestBegun const& begun) const;
  void lose(lifecycle::PeerId peer);
  void remove(std::map<Key, Live>::iterator entry);
  std::string check_delivered(StepView const& step);
  // request_oracle_admission.cpp
  static bool was_rejected(StepView const& step, lifecycle::PeerId peer, std::string_view id);
  std::size_t standing(Stands stands) const;
  Stands stands_of(StepView const& step, lifecycle::RequestBegun const& begun) const;
  Live const* first_waiter(bool priorities) const;
  std::string check_arrival(StepView const& step, lifecycle::RequestBegun const& begun) const;
  std::string check_answers(StepView const& step, lifecycle::Phase before);
  std::string check_admission(StepView const& step) const;

  std::uint64_t arrivals_ = 0;
  std::map<Key, Live> live_;
  struct Ended {
    bool relayed = false;
    Instant until;
  };
  std::map<std::string, Ended> cut_;  // what the core remembered before this step
  std::map<Key, bool> graceful_;      // what a peer registered
  std::set<lifecycle::PeerId> sources_;
  std::set<lifecycle::PeerId> peers_{lifecycle::kIngressPeer};  // that one is always there
  std::set<lifecycle::PeerId> keeps_watching_;  // critical and watched: not forgotten
  std::map<lifecycle::PeerId, Instant> lost_at_;
  bool ranks_told_load_ = false;
  bool was_silent_ = false;  // the engine, after the step before
  std::size_t settled_now_ = 0;
  std::uint64_t lost_ = 0;
  bool source_died_ = false;
  bool exited_ = false;
};

class Checker {
 public:
  explicit Checker(lifecycle::Settings const& settings) : settings_(settings) {}

  /// The supervisor was killed; a new core knows nothing.
  void new_life();
  /// The shim's process is a new one.
  void new_boot();
  /// Empty when all is right, else what is wrong.
  std::string check(StepView const& step);

 private:
  struct Stop {
    lifecycle::StopMode mode = lifecycle::StopMode::graceful;
    lifecycle::CauseKind cause = lifecycle::CauseKind::signal;
    Instant cause_at;
    Instant deadline;
    Instant known_at;  // to this life
    bool in_starting = false;
    bool aborted = false;
    lifecycle::Budgets budgets;
  };

  // invariants.cpp
  std::string check_order(StepView const& step);
  std::string check_action(StepView const& step, lifecycle::Action const& action);
  std::string check_phase(StepView const& step, lifecycle::Phase to);
  std::string check_remembered(StepView const& step);
  std::string check_will(StepView const& step);
  std::string check_timer(StepView const& step);
  std::string check_silence(StepView const& step);
  // invariants_stop.cpp
  std::string check_stop(StepView const& step);
  std::string check_stop_begins(StepView const& step);
  std::string check_restored(StepView const& step);
  void note_blob(StepView const& step, std::string const& blob);
  void note_earlier_signal(StepView const& step);
  void note_grace(StepView const& step);
  std::string check_gate(StepView const& step);
  void note_limit(StepView const& step);
  lifecycle::Budgets budgets_of(Instant cause_at) const;
  // invariants_hooks.cpp
  Instant hook_bound() const;
  void note_hook(StepView const& step);
  void hear_of_deletion(Instant called_at);
  std::optional<Instant> deletion_disproved_at(StepView const& step) const;
  std::string check_hook_action(StepView const& step, lifecycle::Action const& action);
  std::string check_nothing_runs(StepView const& step) const;
  std::string check_hook(StepView const& step);
  // invariants_engine.cpp
  void note_engine(StepView const& step);
  std::string check_exit_code(StepView const& step, int code) const;
  std::string check_killing(StepView const& step, lifecycle::SignalEngine const& signal) const;
  void engine_exited(StepView const& step, lifecycle::EngineExit const& exit, bool ordered,
                     std::optional<lifecycle::Instant> at);
  bool ended_in_drain(StepView const& step) const;
  void note_fatal();
  void note_gauges(lifecycle::Instant now, lifecycle::GaugesRead const& gauges);
  void note_token(lifecycle::TokenAnswered const& answer);
  void forget_gauges();
  std::string check_ask(StepView const& step, lifecycle::AskToken const& ask);
  void note_death(Instant now, lifecycle::EngineProcessDied const& death);
  void note_rest(StepView const& step, Instant ended_at, std::optional<std::uint32_t> alive);
  std::string check_rest(StepView const& step) const;
  bool in_flight_known_idle() const;
  bool ingress_counts() const { return settings_.ingress_is_exclusive || relayed_before_; }
  int expected_code() const;

  lifecycle::Settings const& settings_;
  RequestOracle requests_;

  // of this supervisor life
  lifecycle::Phase phase_ = lifecycle::Phase::starting;
  lifecycle::Phase before_ = lifecycle::Phase::starting;  // this step
  lifecycle::Phase phase_at_stop_ = lifecycle::Phase::starting;
  bool ended_ = false;
  bool relayed_before_ = false;       // an earlier life's ingress did
  std::size_t in_flight_before_ = 0;  // this step
  bool own_signal_ = false;
  bool exit_asked_ = false;
  bool run_mode_ = false;
  bool stop_seen_ = false;
  bool deletion_seen_ = false;
  bool deletion_is_certain_ = false;  // more than a hook's report
  std::optional<Instant> deletion_disproved_;
  std::optional<Instant> deletion_told_;  // by the first hook
  std::optional<Instant> own_signal_at_;  // the first one
  std::optional<Instant> silent_at_;      // the engine's last fall
  std::optional<Duration> pod_grace_;     // as far as this life knows
  bool hook_waits_ = false;
  std::optional<Instant> hook_called_;  // the first call of this container's stop
  std::optional<Instant> hook_told_;    // by an earlier life, that may be outranked
  bool hook_answered_ = false;
  bool hook_restored_ = false;
  bool hook_read_ = false;     // in this step
  bool hook_pressed_ = false;  // its time for requests was up
  std::optional<Instant> awaiting_since_;
  bool condemned_ = false;
  bool commanded_ = false;  // an operator may have decided otherwise than the earlier life
  // in this step
  bool rearmed_ = false;
  bool restored_stop_ = false;
  std::optional<lifecycle::Phase> restored_phase_;
  // of this life again
  bool may_jump_ = true;  // an earlier life's phase has not been restored yet
  std::optional<Stop> stop_;
  std::optional<Instant> draining_since_;
  std::optional<Instant> drain_limit_;
  bool exit_ordered_ = false;                 // on this connection of the shim
  std::optional<lifecycle::LeaveWill> will_;  // the shim's, on this connection
  bool shim_known_ = false;
  bool shim_connected_ = false;
  std::optional<Instant> shim_lost_at_;
  bool gauges_idle_ = false;
  bool gauges_settled_ = false;  // ... but not proven
  bool load_counts_ = settings_.load_counts;
  bool load_is_zero_ = false;
  bool token_proves_ = false;
  std::optional<lifecycle::AskToken> token_out_;
  bool token_sent_ = false;
  bool busy_after_drained_ = false;  // by the gauges
  std::optional<Instant> gauges_zero_at_;
  std::optional<Instant> gauges_busy_at_;
  std::optional<std::uint64_t> gauge_tokens_;  // as they were read last
  std::optional<std::uint64_t> gauge_cache_;

  // of this boot of the shim, whatever happened to supervisors
  bool registered_ = false;
  bool engine_ordered_ = false;
  bool term_asked_ = false;
  bool kill_sent_ = false;
  bool died_with_work_ = false;
  bool work_unclear_ = false;       // whether it died with work cannot be known from outside
  bool aborted_with_work_ = false;  // a fatal event ended its drain in the middle of work
  bool abort_unclear_ = false;
  bool main_killed_ = false;
  bool shim_given_up_ = false;
  bool could_not_run_ = false;  // the shim's exec failed
  lifecycle::EngineState engine_ = lifecycle::EngineState::waiting;
  lifecycle::EngineExit engine_exit_;
  std::optional<int> exit_code_;
  std::uint32_t rest_alive_ = 0;         // of the engine's processes, after the main one
  std::optional<Instant> rest_ends_by_;  // its grace
  std::optional<Instant> main_ends_by_;  // asked to end, and without an essential process
};

}  // namespace lastcall::simulation
