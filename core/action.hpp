// Everything that the core can order from the shell: one struct for each order or note, named in
// the imperative.
//
// Rules:
//  1. Orders are carried out in their sequence; Remember is always the first of its step, and
//     LeaveWill follows it.
//  2. Views point into the core and are valid until its next call.
//  3. Notes (the last part) change nothing; the log and the metrics are made from them.
//
// Values only, no thread rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/event.hpp"
#include "core/instant.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

enum class Verdict : std::uint8_t { starting, healthy, busy, unresponsive, wedged, dead };
enum class PhaseOutcome : std::uint8_t { running, completed, timed_out, skipped, failed };

// --- what must survive us ------------------------------------------------------------------------

/// The blob is sent to the shim, or written to `stop.json` while no shim is connected.
struct Remember {
  std::string blob;
};
/// The drain or stop has ended: a `stop.json` must not outlive it.
struct ForgetStopRecord {};
/// The shim keeps the will in case it must finish this stop alone; the shell adds what to report.
struct LeaveWill {
  Phase phase = Phase::starting;
  StopMode mode = StopMode::graceful;
  Instant deadline;
  std::optional<int> code;  // absent: it depends on how the engine ends
  friend bool operator==(LeaveWill const&, LeaveWill const&) = default;
};

// --- the engine, through the shim ----------------------------------------------------------------

struct StartEngine {};
struct SignalEngine {
  std::string name;  // "TERM", "KILL", ...
  bool all = false;  // the whole tree, not only its main process
};
/// Something happened to the engine that its checks may see: they run now.
struct RunChecks {};
/// The shim ends with this code; the shell adds the report.
struct ExitShim {
  int code = 0;
};

// --- peers ---------------------------------------------------------------------------------------

struct AnnouncePhase {
  Phase phase = Phase::starting;
  std::optional<Instant> deadline;
};
/// The ledger holds cancels for this peer: fetch them with take_cancels() as its socket takes them.
struct CancelsReady {
  PeerId peer = 0;
};
struct Admit {
  PeerId peer = 0;
  std::string_view id;
  Duration waited{};
};
/// `limit` and `count` are the number of requests that may run and wait together, and the number
/// that did; they are set only if a limit is the reason. `silent`: the instance is overloaded
/// because the engine is unresponsive, whatever its limits. `excess` is the figure that made the
/// engine busy; it is set only if load is the reason.
struct Reject {
  PeerId peer = 0;
  std::string id;
  RejectedReason reason = RejectedReason::draining;
  Duration retry_after{};
  std::optional<std::uint64_t> limit;
  std::optional<std::uint64_t> count;
  bool silent = false;
  std::optional<LoadExcess> excess;
};
/// This peer is of no further interest, so its process need not be watched.
struct ForgetPeer {
  PeerId peer = 0;
};

// --- answers to the event of this step -----------------------------------------------------------

enum class Refusal : std::uint8_t { duplicate_id, not_yours, bad_field, conflict, busy };

struct Refuse {
  Refusal code = Refusal::conflict;
  std::string message;
};
/// For drain and resume: whether the call changed anything.
struct Answer {
  bool changed = false;
};

// --- preStop mode --------------------------------------------------------------------------------

/// Every waiting preStop call of the engine's container may return.
struct ReleaseHook {
  std::string_view why;
  Duration held{};
};
/// Watch for another engine; EngineReplaced reports it. `condemned`: this engine has no order to
/// end, and its container's liveness probe must end it.
struct AwaitReplacement {
  bool condemned = false;
};
/// Another engine has appeared, or no call waits for it any more.
struct ReplacementEnded {
  std::string how;
};
/// The pod has outlived a hook's report: it was not being deleted, and serves again.
struct DeletionDisproved {};

// --- a request of our own ------------------------------------------------------------------------

enum class TokenUse : std::uint8_t { barrier, canary };

/// Request one token from the engine. TokenSent and TokenAnswered with the same number report the
/// outcome; the absence of an answer is an outcome, too. This request is never counted.
struct AskToken {
  std::uint64_t number = 0;
  TokenUse use = TokenUse::barrier;
  /// No peer counts requests, so the request goes only to an engine whose gauges are at 0.
  bool looks_first = false;
};
/// The pending request must be withdrawn.
struct WithdrawToken {};

// --- registries and cleanup ----------------------------------------------------------------------

struct Register {};
/// `returns`: Register will undo this as soon as the engine answers again, so a registry that
/// cannot register again gets no order.
struct Deregister {
  Instant deadline;
  bool returns = false;
};
/// Begin an item of phase 3; CleanupSettled answers it (the engine item is the core's own).
struct StartCleanup {
  CleanupItem item = CleanupItem::hooks;
  Instant deadline;
};

// --- the supervisor's own end --------------------------------------------------------------------

/// The stop has ended; Lifecycle::report() is final.
struct PublishReport {};
/// The supervisor is ready for the next shim: everything of the last stop is forgotten.
struct Rearm {};
/// The supervisor itself restarts: each connection of the ingress ends when the requests on it have
/// ended.
struct LeaveIngress {};
struct ExitSupervisor {
  int code = 0;
};

// --- notes ---------------------------------------------------------------------------------------

struct StopBegun {
  std::string_view cause;
  std::string detail;
  StopMode mode = StopMode::graceful;
  Instant deadline;
};
/// A later stop signal was ignored and counted; `first`: it is the first one, so it is logged.
struct SignalIgnored {
  std::string name;
  bool first = false;
};
/// A fatal event during a graceful stop has ended the drain; the stop keeps its cause and mode.
struct DrainAborted {
  std::string_view cause;
  std::string detail;
};
struct PhaseBegun {
  Phase phase = Phase::starting;
};
struct PhaseEnded {
  Phase phase = Phase::starting;
  PhaseOutcome outcome = PhaseOutcome::completed;
  Duration elapsed{};
  std::optional<Duration> left;
  std::uint64_t in_flight = 0;
};
/// The log line `Active graceful endpoints: N`, at each change during a drain.
struct GracefulEndpoints {
  std::uint32_t active = 0;
};
/// The log line `Last endpoint completed, notifying all waiters`.
struct LastEndpointCompleted {};
struct VerdictChanged {
  Verdict verdict = Verdict::starting;
  std::string reason;
};
struct RequestSettled {
  std::string_view endpoint;
  std::string_view model;
  Outcome outcome = Outcome::completed;
  Duration elapsed{};
  std::optional<RejectedReason> rejected;  // with the outcome of that name
  bool begun = true;                       // false: refused before it was in flight
  bool from_tier = false;                  // its user is a client of the tier above
  bool full = false;                       // refused because limit and queue were full
};
/// All ranks are above a threshold, or no longer are. `excess` is the figure that makes the engine
/// busy.
struct BusyChanged {
  bool busy = false;
  std::optional<LoadExcess> excess;
};
/// The first cancel of a request; it is counted here and nowhere else.
struct CancelCounted {
  std::string_view endpoint;
  std::string_view model;
  std::optional<bool> stream;
  CancelReason reason = CancelReason::control;
  bool from_tier = false;  // its user is a client of the tier above
};
/// The engine confirmed a cancel (by `cancel.done` or `request.end`, whichever came first).
struct CancelSettled {
  CancelReason reason = CancelReason::control;
  Duration elapsed{};
};

using Action =
    std::variant<Remember, ForgetStopRecord, LeaveWill, StartEngine, SignalEngine, RunChecks,
                 ExitShim, AnnouncePhase, CancelsReady, Admit, Reject, ForgetPeer, Refuse, Answer,
                 ReleaseHook, AwaitReplacement, ReplacementEnded, DeletionDisproved, AskToken,
                 WithdrawToken, Register, Deregister, StartCleanup, PublishReport, Rearm,
                 LeaveIngress, ExitSupervisor, StopBegun, SignalIgnored, DrainAborted, PhaseBegun,
                 PhaseEnded, GracefulEndpoints, LastEndpointCompleted, VerdictChanged,
                 RequestSettled, BusyChanged, CancelCounted, CancelSettled>;

}  // namespace lastcall::lifecycle
