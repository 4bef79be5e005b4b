// The only reflection of the members of every event and action, and of the settings, by name. The
// log of steps is written and read back with it, the scenarios of tests/simulation are written in
// lines that it describes, and the hash of what a step ordered is computed with it.
//
// Rules:
//  1. visit() names every member of its struct, so that an event is read back whole.
//  2. A new event or action without a shape does not compile.
//  3. `kName` is the type's word in the log, and a member's name is its key there.
//  4. `kLine` is how a scenario's line begins: `{member}` stands for a value alone, `key={member}`
//     for a value under a shorter key, and any other word for itself. Members that it does not name
//     follow under their own keys if they differ from the default
//     (tests/simulation/shape_text.hpp).
//
// Pure, no thread rule.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/report.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

namespace vocabulary {
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<CheckVerdict>{"passed", "busy", "failed",
                                                                        "timed_out", "not_asked"};
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<Refusal>{"duplicate_id", "not_yours",
                                                                   "bad_field", "conflict", "busy"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<MigratePolicy>{"at_end", "at_start"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<SecondSignal>{"ignore", "force"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<AfterStop>{"auto", "rearm", "exit"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<OnExit>{"fatal", "propagate"};

}  // namespace vocabulary

template <typename T>
struct Shape;
template <typename T>
concept Shaped = requires { Shape<T>::kName; };

#define LASTCALL_SHAPE(Type, name_in_log, line, ...)                        \
  template <>                                                               \
  struct Shape<Type> {                                                      \
    static constexpr std::string_view kName = name_in_log;                  \
    static constexpr std::string_view kLine = line;                         \
    static void visit([[maybe_unused]] auto& x, [[maybe_unused]] auto& v) { \
      __VA_ARGS__                                                           \
    }                                                                       \
  };
#define LASTCALL_PART(Type, ...) LASTCALL_SHAPE(Type, "", "", __VA_ARGS__)

// --- members of events ---------------------------------------------------------------------------

LASTCALL_PART(EngineExit, v("code", x.code); v("signal", x.signal); v("oom", x.oom);)
LASTCALL_PART(AdmissionLimits, v("running", x.running); v("waiting", x.waiting);
              v("wait_timeout_ms", x.wait_timeout); v("first_byte", x.first_byte);
              v("priorities", x.priorities);)
LASTCALL_PART(LoadThresholds, v("decode_ppm", x.decode_ppm); v("prefill_tokens", x.prefill_tokens);
              v("max_age_ms", x.max_age); v("ranks", x.ranks);)
LASTCALL_PART(LoadExcess, v("figure", x.figure); v("rank", x.rank); v("value", x.value);
              v("threshold", x.threshold);)

// --- events --------------------------------------------------------------------------------------

LASTCALL_SHAPE(SupervisorStarted, "supervisor_started", "started")
LASTCALL_SHAPE(StopRecordRead, "stop_record_read", "stop_record", v("blob", x.blob);)
LASTCALL_SHAPE(OwnSignal, "own_signal", "own_signal {name}", v("name", x.name);)
LASTCALL_SHAPE(DeletionSeen, "deletion_seen", "deletion_seen", v("grace_ms", x.grace);)
LASTCALL_SHAPE(EngineStopHook, "engine_stop_hook", "engine_stop_hook")
LASTCALL_SHAPE(EngineReplaced, "engine_replaced", "engine_replaced", v("how", x.how);)
LASTCALL_SHAPE(TimerExpired, "timer_expired", "timer", v("late_ms", x.late);)
LASTCALL_SHAPE(ShimHello, "shim_hello", "shim boot={boot}", v("boot", x.boot); v("run", x.run);
               v("engine", x.engine); v("exit", x.exit); v("started_at_ms", x.started_at);
               v("exited_at_ms", x.exited_at); v("ordered", x.ordered); v("alive", x.alive);
               v("stop_at_ms", x.stop_at); v("blob", x.blob);)
LASTCALL_SHAPE(ShimDisconnected, "shim_disconnected", "shim_disconnected", v("watched", x.watched);
               v("oom", x.oom);)
LASTCALL_SHAPE(ShimGone, "shim_gone", "shim_gone", v("oom", x.oom);)
LASTCALL_SHAPE(StopSignalHeld, "stop_signal_held", "signal {name}", v("name", x.name);
               v("at_ms", x.at);)
LASTCALL_SHAPE(EngineStarted, "engine_started", "engine_started")
LASTCALL_SHAPE(EngineExited, "engine_exited", "engine_exited", v("exit", x.exit);
               v("ordered", x.ordered); v("alive", x.alive); v("at_ms", x.at);)
LASTCALL_SHAPE(EngineTreeSeen, "engine_tree_seen", "engine_tree {alive} {names}",
               v("alive", x.alive);
               v("names", x.names);)
LASTCALL_SHAPE(EngineProcessDied, "engine_process_died", "process_died {name}", v("pid", x.pid);
               v("name", x.name); v("signal", x.signal); v("at_ms", x.at); v("alive", x.alive);
               v("names", x.names);)
LASTCALL_SHAPE(EngineProcessStopped, "engine_process_stopped", "engine_stopped {pid} {name}",
               v("pid", x.pid);
               v("name", x.name);)
LASTCALL_SHAPE(DrainRequested, "drain_requested", "drain", v("exit", x.exit);
               v("timeout_ms", x.timeout);)
LASTCALL_SHAPE(ResumeRequested, "resume_requested", "resume")
LASTCALL_SHAPE(CancelRequested, "cancel_requested",
               "cancel {mode} {reason} peer={by} root={root} {ids}", v("by", x.by);
               v("ids", x.ids); v("root", x.root); v("mode", x.mode); v("reason", x.reason);)
LASTCALL_SHAPE(PeerConnected, "peer_connected", "peer {peer}", v("peer", x.peer); v("name", x.name);
               v("critical", x.critical); v("watched", x.watched); v("live", x.live);)
LASTCALL_SHAPE(PeerDisconnected, "peer_disconnected", "peer_disconnected {peer}",
               v("peer", x.peer);)
LASTCALL_SHAPE(PeerGone, "peer_gone", "peer_gone {peer}", v("peer", x.peer);)
LASTCALL_SHAPE(EndpointRegistered, "endpoint_registered", "endpoint {peer} {endpoint} {graceful}",
               v("peer", x.peer);
               v("endpoint", x.endpoint); v("graceful", x.graceful);)
LASTCALL_SHAPE(EndpointUnregistered, "endpoint_unregistered", "endpoint_gone {peer} {endpoint}",
               v("peer", x.peer);
               v("endpoint", x.endpoint);)
LASTCALL_SHAPE(RequestBegun, "request_begun", "begin {peer} {id}", v("peer", x.peer); v("id", x.id);
               v("root", x.root); v("parent", x.parent); v("endpoint", x.endpoint);
               v("model", x.model); v("stream", x.stream); v("admit", x.admit);
               v("resumed", x.resumed); v("priority", x.priority); v("way", x.way);
               v("began_at_ms", x.began_at);)
LASTCALL_SHAPE(RequestEnded, "request_ended", "end {peer} {id} {outcome}", v("peer", x.peer);
               v("id", x.id); v("outcome", x.outcome);)
LASTCALL_SHAPE(RequestProgressed, "request_progressed", "progress {peer} {ids}", v("peer", x.peer);
               v("ids", x.ids);)
LASTCALL_SHAPE(CancelConfirmed, "cancel_confirmed", "confirm {peer} {id}", v("peer", x.peer);
               v("id", x.id);)
LASTCALL_SHAPE(PeerFatal, "peer_fatal", "fatal {peer} {reason}", v("peer", x.peer);
               v("reason", x.reason); v("detail", x.detail);)
LASTCALL_SHAPE(PeerCleanedUp, "peer_cleaned_up", "cleaned_up {peer}", v("peer", x.peer);)
LASTCALL_SHAPE(LoadReported, "load_reported",
               "load {rank} peer={peer} blocks={active_decode_blocks} of={kv_total_blocks} "
               "prefill={active_prefill_tokens}",
               v("peer", x.peer);
               v("rank", x.rank); v("active_decode_blocks", x.active_decode_blocks);
               v("kv_total_blocks", x.kv_total_blocks);
               v("active_prefill_tokens", x.active_prefill_tokens);)
LASTCALL_SHAPE(AdmissionLimitsChanged, "admission_limits_changed", "limits", v("limits", x.limits);)
LASTCALL_SHAPE(LoadThresholdsChanged, "load_thresholds_changed", "thresholds",
               v("thresholds", x.thresholds);)
LASTCALL_SHAPE(CheckFinished, "check_finished", "check {check} {verdict}", v("check", x.check);
               v("verdict", x.verdict); v("detail", x.detail); v("took_ms", x.took);)
LASTCALL_SHAPE(HealthLimitsChanged, "health_limits_changed", "health_limits {failure_thresholds}",
               v("failure_thresholds", x.failure_thresholds);
               v("unresponsive_after_ms", x.unresponsive_after);
               v("stalled_after_ms", x.stalled_after); v("startup_timeout_ms", x.startup_timeout);)
LASTCALL_SHAPE(GaugesRead, "gauges_read", "gauges {in_flight} cache={cache_ppm}",
               v("in_flight", x.in_flight);
               v("tokens", x.tokens); v("load", x.load); v("cache_ppm", x.cache);)
LASTCALL_SHAPE(EngineRests, "engine_rests", "engine_rests {begins}", v("begins", x.begins);)
LASTCALL_SHAPE(TokenSent, "token_sent", "token_sent {number}", v("number", x.number);)
LASTCALL_SHAPE(TokenAnswered, "token_answered", "token {number} {outcome}", v("number", x.number);
               v("outcome", x.outcome);)
LASTCALL_SHAPE(RegistrySettled, "registry_settled", "registry {registry} {confirmed}",
               v("registry", x.registry);
               v("confirmed", x.confirmed); v("detail", x.detail);)
LASTCALL_SHAPE(CleanupSettled, "cleanup_settled", "cleanup {item} {outcome}", v("item", x.item);
               v("outcome", x.outcome); v("detail", x.detail);)

// --- actions -------------------------------------------------------------------------------------

LASTCALL_SHAPE(Remember, "remember", "remember", v("blob", x.blob);)
LASTCALL_SHAPE(ForgetStopRecord, "forget_stop_record", "forget_stop_record")
LASTCALL_SHAPE(LeaveWill, "leave_will", "leave_will {phase} {mode} deadline={deadline_at}",
               v("phase", x.phase);
               v("mode", x.mode); v("deadline_at_ms", x.deadline); v("code", x.code);)
LASTCALL_SHAPE(StartEngine, "start_engine", "start_engine")
LASTCALL_SHAPE(SignalEngine, "signal_engine", "signal_engine {name}", v("name", x.name);
               v("all", x.all);)
LASTCALL_SHAPE(RunChecks, "run_checks", "run_checks")
LASTCALL_SHAPE(ExitShim, "exit_shim", "exit_shim {code}", v("code", x.code);)
LASTCALL_SHAPE(AnnouncePhase, "announce_phase", "announce {phase} deadline={deadline_at}",
               v("phase", x.phase);
               v("deadline_at_ms", x.deadline);)
LASTCALL_SHAPE(CancelsReady, "cancels_ready", "cancels_ready {peer}", v("peer", x.peer);)
LASTCALL_SHAPE(Admit, "admit", "admit {peer} {id}", v("peer", x.peer); v("id", x.id);
               v("waited_ms", x.waited);)
LASTCALL_SHAPE(Reject, "reject", "reject {peer} {id} {reason}", v("peer", x.peer); v("id", x.id);
               v("reason", x.reason); v("retry_after_ms", x.retry_after); v("limit", x.limit);
               v("count", x.count); v("silent", x.silent); v("excess", x.excess);)
LASTCALL_SHAPE(ForgetPeer, "forget_peer", "forget_peer {peer}", v("peer", x.peer);)
LASTCALL_SHAPE(Refuse, "refuse", "refuse {code} {message}", v("code", x.code);
               v("message", x.message);)
LASTCALL_SHAPE(Answer, "answer", "answer {changed}", v("changed", x.changed);)
LASTCALL_SHAPE(ReleaseHook, "release_hook", "release_hook {why} after={held}", v("why", x.why);
               v("held_ms", x.held);)
LASTCALL_SHAPE(AwaitReplacement, "await_replacement", "await_replacement",
               v("condemned", x.condemned);)
LASTCALL_SHAPE(ReplacementEnded, "replacement_ended", "replacement_ended {how}", v("how", x.how);)
LASTCALL_SHAPE(DeletionDisproved, "deletion_disproved", "deletion_disproved")
LASTCALL_SHAPE(AskToken, "ask_token", "ask_token {number} {use}", v("number", x.number);
               v("use", x.use); v("looks_first", x.looks_first);)
LASTCALL_SHAPE(WithdrawToken, "withdraw_token", "withdraw_token")
LASTCALL_SHAPE(Register, "register", "register")
LASTCALL_SHAPE(Deregister, "deregister", "deregister by={deadline_at}",
               v("deadline_at_ms", x.deadline);
               v("returns", x.returns);)
LASTCALL_SHAPE(StartCleanup, "start_cleanup", "clean_up {item} by={deadline_at}", v("item", x.item);
               v("deadline_at_ms", x.deadline);)
LASTCALL_SHAPE(PublishReport, "publish_report", "publish_report")
LASTCALL_SHAPE(Rearm, "rearm", "rearm")
LASTCALL_SHAPE(LeaveIngress, "leave_ingress", "leave_ingress")
LASTCALL_SHAPE(ExitSupervisor, "exit_supervisor", "exit_supervisor {code}", v("code", x.code);)
LASTCALL_SHAPE(StopBegun, "stop_begun", "stop_begun {cause} {mode} deadline={deadline_at}",
               v("cause", x.cause);
               v("detail", x.detail); v("mode", x.mode); v("deadline_at_ms", x.deadline);)
LASTCALL_SHAPE(SignalIgnored, "signal_ignored", "signal_ignored {name}", v("name", x.name);
               v("first", x.first);)
LASTCALL_SHAPE(DrainAborted, "drain_aborted", "drain_aborted {cause}", v("cause", x.cause);
               v("detail", x.detail);)
LASTCALL_SHAPE(PhaseBegun, "phase_begun", "phase {phase} begun", v("phase", x.phase);)
LASTCALL_SHAPE(PhaseEnded, "phase_ended", "phase {phase} {outcome} after={elapsed}",
               v("phase", x.phase);
               v("outcome", x.outcome); v("elapsed_ms", x.elapsed); v("left_ms", x.left);
               v("in_flight", x.in_flight);)
LASTCALL_SHAPE(GracefulEndpoints, "graceful_endpoints", "log: Active graceful endpoints: {active}",
               v("active", x.active);)
LASTCALL_SHAPE(LastEndpointCompleted, "last_endpoint_completed",
               "log: Last endpoint completed, notifying all waiters")
LASTCALL_SHAPE(VerdictChanged, "verdict_changed", "verdict {verdict} {reason}",
               v("verdict", x.verdict);
               v("reason", x.reason);)
LASTCALL_SHAPE(RequestSettled, "request_settled",
               "settled {outcome} endpoint={endpoint} model={model} after={elapsed}",
               v("endpoint", x.endpoint);
               v("model", x.model); v("outcome", x.outcome); v("elapsed_ms", x.elapsed);
               v("rejected", x.rejected); v("begun", x.begun); v("from_tier", x.from_tier);
               v("full", x.full);)
LASTCALL_SHAPE(BusyChanged, "busy_changed", "{busy}", v("busy", x.busy); v("excess", x.excess);)
LASTCALL_SHAPE(CancelCounted, "cancel_counted", "cancel_counted {reason}",
               v("endpoint", x.endpoint);
               v("model", x.model); v("stream", x.stream); v("reason", x.reason);
               v("from_tier", x.from_tier);)
LASTCALL_SHAPE(CancelSettled, "cancel_settled", "cancel_confirmed {reason} after={elapsed}",
               v("reason", x.reason);
               v("elapsed_ms", x.elapsed);)

// --- settings ------------------------------------------------------------------------------------

LASTCALL_PART(CheckSettings, v("name", x.name); v("failure_threshold", x.failure_threshold);)
// With these bindings, a new member in one of the structs is a compile error.
template <>
struct Shape<Settings> {
  static constexpr std::string_view kName = "settings";
  static constexpr std::string_view kLine = "settings";
  static void visit(auto& x, auto& v) {
    auto& [shutdown, pod_grace, migrate, second_signal, after_stop, on_exit, lifecycle_hooks,
           stop_signal, rest_grace, main_ends_workers, essential_processes, health, registries,
           cleanup_hooks, cleanup_paths, events, exclusive, reconnect_window, peer_requests,
           peers_requests, gauge_refresh, load_counts, token, admission, load] = x;
    auto& [barrier, canary] = token;
    auto& [grace_period, deregister_timeout, late_accept, reserve, settle, drain_unknown,
           events_reserved, registries_reserved] = shutdown;
    auto& [running, waiting, wait_timeout, first_byte, priorities] = admission;
    auto& [decode_ppm, prefill_tokens, max_age, ranks] = load;
    auto& [checks, unresponsive_after, stalled_after, tokens_show_stalls, startup_timeout] = health;
    v("grace_period_ms", grace_period);
    v("deregister_timeout_ms", deregister_timeout);
    v("late_accept_ms", late_accept);
    v("cleanup_reserve_ms", reserve);
    v("cancel_settle_ms", settle);
    v("drain_unknown_ms", drain_unknown);
    v("events_reserved", events_reserved);
    v("registries_reserved", registries_reserved);
    v("pod_grace_ms", pod_grace);
    v("migrate", migrate);
    v("second_signal", second_signal);
    v("after_stop", after_stop);
    v("on_exit", on_exit);
    v("lifecycle_hooks", lifecycle_hooks);
    v("stop_signal", stop_signal);
    v("rest_grace_ms", rest_grace);
    v("main_ends_workers", main_ends_workers);
    v("essential_processes", essential_processes);
    v("checks", checks);
    v("unresponsive_after_ms", unresponsive_after);
    v("stalled_after_ms", stalled_after);
    v("tokens_show_stalls", tokens_show_stalls);
    v("startup_timeout_ms", startup_timeout);
    v("registries", registries);
    v("cleanup_hooks", cleanup_hooks);
    v("cleanup_paths", cleanup_paths);
    v("events", events);
    v("ingress_is_exclusive", exclusive);
    v("reconnect_window_ms", reconnect_window);
    v("peer_requests", peer_requests);
    v("peers_requests", peers_requests);
    v("gauge_refresh_ms", gauge_refresh);
    v("load_counts", load_counts);
    v("barrier", barrier);
    v("canary", canary);
    v("admission_running", running);
    v("admission_waiting", waiting);
    v("admission_wait_timeout_ms", wait_timeout);
    v("admission_first_byte", first_byte);
    v("admission_priorities", priorities);
    v("load_decode_ppm", decode_ppm);
    v("load_prefill_tokens", prefill_tokens);
    v("load_max_age_ms", max_age);
    v("load_ranks", ranks);
  }
};

#undef LASTCALL_PART
#undef LASTCALL_SHAPE

}  // namespace lastcall::lifecycle
