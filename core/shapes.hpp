// The members of every event and action by name: the one reflection of them. The log of steps is
// written and read back by it, and a hash of what a step ordered is made of it.
//
// Rules:
//  1. visit() names every member of its struct, so that an event is read back whole.
//  2. A new event or action without a shape does not compile.
//
// Pure, no thread rule.
#pragma once

#include <array>
#include <string_view>

#include "core/action.hpp"
#include "core/event.hpp"

namespace lastcall::lifecycle {

namespace vocabulary {
inline constexpr std::array<std::string_view, 4> kCheckVerdicts{"passed", "busy", "failed",
                                                                "timed_out"};
inline constexpr std::array<std::string_view, 5> kRefusals{"duplicate_id", "not_yours", "bad_field",
                                                           "conflict", "busy"};
}  // namespace vocabulary

template <typename T>
struct Shape;

#define LASTCALL_SHAPE(Type, word, ...)                                     \
  template <>                                                               \
  struct Shape<Type> {                                                      \
    static constexpr std::string_view kName = word;                         \
    static void visit([[maybe_unused]] auto& x, [[maybe_unused]] auto& v) { \
      __VA_ARGS__                                                           \
    }                                                                       \
  };

// --- members of events ---------------------------------------------------------------------------

LASTCALL_SHAPE(EngineExit, "", v("code", x.code); v("signal", x.signal); v("oom", x.oom);)
LASTCALL_SHAPE(AdmissionLimits, "", v("running", x.running); v("waiting", x.waiting);
               v("wait_timeout_ms", x.wait_timeout); v("first_byte", x.first_byte);
               v("priorities", x.priorities);)
LASTCALL_SHAPE(LoadThresholds, "", v("decode_ppm", x.decode_ppm);
               v("prefill_tokens", x.prefill_tokens); v("max_age_ms", x.max_age);
               v("ranks", x.ranks);)
LASTCALL_SHAPE(LoadExcess, "", v("figure", x.figure); v("rank", x.rank); v("value", x.value);
               v("threshold", x.threshold);)

// --- events --------------------------------------------------------------------------------------

LASTCALL_SHAPE(SupervisorStarted, "supervisor_started")
LASTCALL_SHAPE(StopRecordRead, "stop_record_read", v("blob", x.blob);)
LASTCALL_SHAPE(OwnSignal, "own_signal", v("name", x.name);)
LASTCALL_SHAPE(DeletionSeen, "deletion_seen", v("grace_ms", x.grace);)
LASTCALL_SHAPE(EngineStopHook, "engine_stop_hook")
LASTCALL_SHAPE(EngineReplaced, "engine_replaced", v("how", x.how);)
LASTCALL_SHAPE(TimerExpired, "timer_expired", v("late_ms", x.late);)
LASTCALL_SHAPE(ShimHello, "shim_hello", v("boot", x.boot); v("run", x.run); v("engine", x.engine);
               v("exit", x.exit); v("started_at_ms", x.started_at); v("exited_at_ms", x.exited_at);
               v("ordered", x.ordered); v("alive", x.alive); v("stop_at_ms", x.stop_at);
               v("blob", x.blob);)
LASTCALL_SHAPE(ShimDisconnected, "shim_disconnected", v("watched", x.watched); v("oom", x.oom);)
LASTCALL_SHAPE(ShimGone, "shim_gone", v("oom", x.oom);)
LASTCALL_SHAPE(StopSignalHeld, "stop_signal_held", v("name", x.name); v("at_ms", x.at);)
LASTCALL_SHAPE(EngineStarted, "engine_started")
LASTCALL_SHAPE(EngineExited, "engine_exited", v("exit", x.exit); v("ordered", x.ordered);
               v("alive", x.alive); v("at_ms", x.at);)
LASTCALL_SHAPE(EngineTreeSeen, "engine_tree_seen", v("alive", x.alive); v("names", x.names);)
LASTCALL_SHAPE(EngineProcessDied, "engine_process_died", v("pid", x.pid); v("name", x.name);
               v("signal", x.signal); v("at_ms", x.at);)
LASTCALL_SHAPE(EngineProcessStopped, "engine_process_stopped", v("pid", x.pid); v("name", x.name);)
LASTCALL_SHAPE(DrainRequested, "drain_requested", v("exit", x.exit); v("timeout_ms", x.timeout);)
LASTCALL_SHAPE(ResumeRequested, "resume_requested")
LASTCALL_SHAPE(CancelRequested, "cancel_requested", v("by", x.by); v("ids", x.ids);
               v("root", x.root); v("mode", x.mode); v("reason", x.reason);)
LASTCALL_SHAPE(PeerConnected, "peer_connected", v("peer", x.peer); v("name", x.name);
               v("critical", x.critical); v("watched", x.watched); v("live", x.live);)
LASTCALL_SHAPE(PeerDisconnected, "peer_disconnected", v("peer", x.peer);)
LASTCALL_SHAPE(PeerGone, "peer_gone", v("peer", x.peer);)
LASTCALL_SHAPE(EndpointRegistered, "endpoint_registered", v("peer", x.peer);
               v("endpoint", x.endpoint); v("graceful", x.graceful);)
LASTCALL_SHAPE(EndpointUnregistered, "endpoint_unregistered", v("peer", x.peer);
               v("endpoint", x.endpoint);)
LASTCALL_SHAPE(RequestBegun, "request_begun", v("peer", x.peer); v("id", x.id); v("root", x.root);
               v("parent", x.parent); v("endpoint", x.endpoint); v("model", x.model);
               v("stream", x.stream); v("admit", x.admit); v("resumed", x.resumed);
               v("priority", x.priority); v("way", x.way); v("began_at_ms", x.began_at);)
LASTCALL_SHAPE(RequestEnded, "request_ended", v("peer", x.peer); v("id", x.id);
               v("outcome", x.outcome);)
LASTCALL_SHAPE(RequestProgressed, "request_progressed", v("peer", x.peer); v("ids", x.ids);)
LASTCALL_SHAPE(CancelConfirmed, "cancel_confirmed", v("peer", x.peer); v("id", x.id);)
LASTCALL_SHAPE(PeerFatal, "peer_fatal", v("peer", x.peer); v("reason", x.reason);
               v("detail", x.detail);)
LASTCALL_SHAPE(PeerCleanedUp, "peer_cleaned_up", v("peer", x.peer);)
LASTCALL_SHAPE(LoadReported, "load_reported", v("peer", x.peer); v("rank", x.rank);
               v("active_decode_blocks", x.active_decode_blocks);
               v("kv_total_blocks", x.kv_total_blocks);
               v("active_prefill_tokens", x.active_prefill_tokens);)
LASTCALL_SHAPE(AdmissionLimitsChanged, "admission_limits_changed", v("limits", x.limits);)
LASTCALL_SHAPE(LoadThresholdsChanged, "load_thresholds_changed", v("thresholds", x.thresholds);)
LASTCALL_SHAPE(CheckFinished, "check_finished", v("check", x.check); v("verdict", x.verdict);
               v("detail", x.detail); v("took_ms", x.took);)
LASTCALL_SHAPE(HealthLimitsChanged, "health_limits_changed",
               v("failure_thresholds", x.failure_thresholds);
               v("unresponsive_after_ms", x.unresponsive_after);
               v("stalled_after_ms", x.stalled_after); v("startup_timeout_ms", x.startup_timeout);)
LASTCALL_SHAPE(GaugesRead, "gauges_read", v("in_flight", x.in_flight); v("tokens", x.tokens);
               v("load", x.load); v("cache_ppm", x.cache);)
LASTCALL_SHAPE(TokenSent, "token_sent", v("number", x.number);)
LASTCALL_SHAPE(TokenAnswered, "token_answered", v("number", x.number); v("outcome", x.outcome);)
LASTCALL_SHAPE(RegistrySettled, "registry_settled", v("registry", x.registry);
               v("confirmed", x.confirmed); v("detail", x.detail);)
LASTCALL_SHAPE(CleanupSettled, "cleanup_settled", v("item", x.item); v("outcome", x.outcome);
               v("detail", x.detail);)

// --- actions -------------------------------------------------------------------------------------

LASTCALL_SHAPE(Remember, "remember", v("blob", x.blob);)
LASTCALL_SHAPE(ForgetStopRecord, "forget_stop_record")
LASTCALL_SHAPE(LeaveWill, "leave_will", v("phase", x.phase); v("mode", x.mode);
               v("deadline_at_ms", x.deadline); v("code", x.code);)
LASTCALL_SHAPE(StartEngine, "start_engine")
LASTCALL_SHAPE(SignalEngine, "signal_engine", v("name", x.name); v("all", x.all);)
LASTCALL_SHAPE(RunChecks, "run_checks")
LASTCALL_SHAPE(ExitShim, "exit_shim", v("code", x.code);)
LASTCALL_SHAPE(AnnouncePhase, "announce_phase", v("phase", x.phase);
               v("deadline_at_ms", x.deadline);)
LASTCALL_SHAPE(CancelsReady, "cancels_ready", v("peer", x.peer);)
LASTCALL_SHAPE(Admit, "admit", v("peer", x.peer); v("id", x.id); v("waited_ms", x.waited);)
LASTCALL_SHAPE(Reject, "reject", v("peer", x.peer); v("id", x.id); v("reason", x.reason);
               v("retry_after_ms", x.retry_after); v("limit", x.limit); v("count", x.count);
               v("silent", x.silent); v("excess", x.excess);)
LASTCALL_SHAPE(ForgetPeer, "forget_peer", v("peer", x.peer);)
LASTCALL_SHAPE(Refuse, "refuse", v("code", x.code); v("message", x.message);)
LASTCALL_SHAPE(Answer, "answer", v("changed", x.changed);)
LASTCALL_SHAPE(ReleaseHook, "release_hook", v("why", x.why); v("held_ms", x.held);)
LASTCALL_SHAPE(AwaitReplacement, "await_replacement", v("condemned", x.condemned);)
LASTCALL_SHAPE(ReplacementEnded, "replacement_ended", v("how", x.how);)
LASTCALL_SHAPE(DeletionDisproved, "deletion_disproved")
LASTCALL_SHAPE(AskToken, "ask_token", v("number", x.number); v("use", x.use);
               v("looks_first", x.looks_first);)
LASTCALL_SHAPE(WithdrawToken, "withdraw_token")
LASTCALL_SHAPE(Register, "register")
LASTCALL_SHAPE(Deregister, "deregister", v("deadline_at_ms", x.deadline); v("returns", x.returns);)
LASTCALL_SHAPE(StartCleanup, "start_cleanup", v("item", x.item); v("deadline_at_ms", x.deadline);)
LASTCALL_SHAPE(PublishReport, "publish_report")
LASTCALL_SHAPE(Rearm, "rearm")
LASTCALL_SHAPE(LeaveIngress, "leave_ingress")
LASTCALL_SHAPE(ExitSupervisor, "exit_supervisor", v("code", x.code);)
LASTCALL_SHAPE(StopBegun, "stop_begun", v("cause", x.cause); v("detail", x.detail);
               v("mode", x.mode); v("deadline_at_ms", x.deadline);)
LASTCALL_SHAPE(SignalIgnored, "signal_ignored", v("name", x.name); v("first", x.first);)
LASTCALL_SHAPE(DrainAborted, "drain_aborted", v("cause", x.cause); v("detail", x.detail);)
LASTCALL_SHAPE(PhaseBegun, "phase_begun", v("phase", x.phase);)
LASTCALL_SHAPE(PhaseEnded, "phase_ended", v("phase", x.phase); v("outcome", x.outcome);
               v("elapsed_ms", x.elapsed); v("left_ms", x.left); v("in_flight", x.in_flight);)
LASTCALL_SHAPE(GracefulEndpoints, "graceful_endpoints", v("active", x.active);)
LASTCALL_SHAPE(LastEndpointCompleted, "last_endpoint_completed")
LASTCALL_SHAPE(VerdictChanged, "verdict_changed", v("verdict", x.verdict); v("reason", x.reason);)
LASTCALL_SHAPE(RequestSettled, "request_settled", v("endpoint", x.endpoint); v("model", x.model);
               v("outcome", x.outcome); v("elapsed_ms", x.elapsed); v("rejected", x.rejected);
               v("begun", x.begun); v("from_tier", x.from_tier); v("full", x.full);)
LASTCALL_SHAPE(BusyChanged, "busy_changed", v("busy", x.busy); v("excess", x.excess);)
LASTCALL_SHAPE(CancelCounted, "cancel_counted", v("endpoint", x.endpoint); v("model", x.model);
               v("stream", x.stream); v("reason", x.reason); v("from_tier", x.from_tier);)
LASTCALL_SHAPE(CancelSettled, "cancel_settled", v("reason", x.reason); v("elapsed_ms", x.elapsed);)

#undef LASTCALL_SHAPE

}  // namespace lastcall::lifecycle
