// Everything that can happen to the core: one struct for each fact, in the past tense.
//
// Rules:
//  1. The variant is closed: a new fact of the world is a new struct here, and the compiler points
//     to every place that must decide about it.
//  2. Facts carry what was seen, never what should be done.
//  3. Strings are bounded by the wire (ids 256 bytes, a line 64 KiB) before they get here.
//
// Values only, no thread rule. Source: docs/ipc.md; specification, 'Lifecycle'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/peer_id.hpp"
#include "core/admission_limits.hpp"
#include "core/instant.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

/// One connection of an SDK. A peer that reconnects is a new peer and announces its requests again.
using lastcall::PeerId;

/// The ingress of this process counts as a peer that is always connected. Its requests are those
/// that it relays.
inline constexpr PeerId kIngressPeer = PeerId{1} << 52U;

// --- the supervisor itself -----------------------------------------------------------------------

/// The process is up; nothing is known yet of an earlier life.
struct SupervisorStarted {};
/// A valid `stop.json` of this pod was read: an earlier life of this supervisor was in a drain or
/// stop.
struct StopRecordRead {
  std::string blob;
};
/// TERM, INT or QUIT that the supervisor itself received.
struct OwnSignal {
  std::string name;
};
/// The pod is being deleted. This fact never expires.
struct DeletionSeen {
  /// Its `deletionGracePeriodSeconds`, where `deletionTimestamp` was read. Absent if the
  /// supervisor's own preStop hook was called, as is the case for a restart of its container alone.
  std::optional<Duration> grace;
};
/// A preStop call of the engine's container, which gets its stop signal when the call returns.
struct EngineStopHook {};
/// The engine that had to end is gone; answers from now on come from another one.
struct EngineReplaced {
  std::string how;
};
/// The instant of next_deadline() has passed. `late`: how long the supervisor was seen not to run
/// meanwhile (stopped, suspended, starved).
struct TimerExpired {
  Duration late{};
};

// --- the shim and its engine ---------------------------------------------------------------------

enum class EngineState : std::uint8_t { waiting, running, exited };

/// How the engine's main process ended: `signal` is 0 when it exited with `code`.
struct EngineExit {
  int code = 0;
  int signal = 0;
  bool oom = false;
  friend bool operator==(EngineExit const&, EngineExit const&) = default;
};

struct ShimHello {
  std::string boot;
  /// True if it shares the supervisor's container, as under `lastcall run`.
  bool run = false;
  EngineState engine = EngineState::waiting;
  EngineExit exit;
  std::optional<Instant> started_at;
  std::optional<Instant> exited_at;
  /// Whether an earlier life of this supervisor had ordered the engine's end.
  bool ordered = false;
  /// After its end, the number of its processes that are left; absent if the shim does not report
  /// it.
  std::optional<std::uint32_t> alive;
  /// A stop signal that the shim holds.
  std::optional<Instant> stop_at;
  std::string blob;
};
/// The connection ended. `watched`: the process is still observed through its pidfd, so that only
/// ShimGone means loss; otherwise it is lost when it is not back in time. `oom`: its cgroup's
/// counter shows that the kernel has killed there for lack of memory, which explains a loss.
struct ShimDisconnected {
  bool watched = false;
  bool oom = false;
};
struct ShimGone {
  bool oom = false;
};
/// A stop signal that the shim received and holds.
struct StopSignalHeld {
  std::string name;
  Instant at;
};
struct EngineStarted {};
struct EngineExited {
  EngineExit exit;
  /// Whether the shim had signalled the engine, on an order or at its own deadline.
  bool ordered = false;
  /// The number of its processes that are left; absent if the shim does not report it.
  std::optional<std::uint32_t> alive;
  /// When the shim reaped it; absent if the shim does not report it.
  std::optional<Instant> at;
};
/// The engine's processes that are left after its main one; names of a few of them.
struct EngineTreeSeen {
  std::uint32_t alive = 0;
  std::vector<std::string> names;
};
/// A process other than the main one has ended before it, after living for a while.
struct EngineProcessDied {
  std::int64_t pid = 0;  // in the shim's namespace; only for people to read
  std::string name;
  int signal = 0;  // 0 if there is none or it could not be read
  Instant at;
  /// The number of processes that live on besides the main one; absent if it is not known.
  std::optional<std::uint32_t> alive;
  /// Their names, each once; empty if not all are known or there are none.
  std::vector<std::string> names;
};
/// A process of the engine's tree was seen stopped (state T): by a signal, or by a debugger.
struct EngineProcessStopped {
  std::int64_t pid = 0;
  std::string name;
};

// --- operators -----------------------------------------------------------------------------------

struct DrainRequested {
  bool exit = false;
  /// How long requests may take to finish; without it a drain waits for them.
  std::optional<Duration> timeout;
};
struct ResumeRequested {};
/// Comes from a peer, for its own requests, or without a peer from an operator, for any.
struct CancelRequested {
  std::optional<PeerId> by;
  std::vector<std::string> ids;
  std::string root;
  CancelMode mode = CancelMode::stop;
  CancelReason reason = CancelReason::control;
};

// --- SDK peers -----------------------------------------------------------------------------------

struct PeerConnected {
  PeerId peer = 0;
  std::string name;
  bool critical = false;
  /// Its process is observed through a pidfd: PeerGone will report its end.
  bool watched = false;
  /// Number of live requests that it is about to announce.
  std::uint32_t live = 0;
};
struct PeerDisconnected {
  PeerId peer = 0;
};
/// Its process is gone, seen through its pidfd.
struct PeerGone {
  PeerId peer = 0;
};
struct EndpointRegistered {
  PeerId peer = 0;
  std::string endpoint;
  bool graceful = true;
};
struct EndpointUnregistered {
  PeerId peer = 0;
  std::string endpoint;
};
struct RequestBegun {
  PeerId peer = 0;
  std::string id;
  std::string root;
  std::string parent;
  std::string endpoint;
  std::string model;
  std::optional<bool> stream;  // whether the answer is a stream
  bool admit = false;
  bool resumed = false;
  std::uint8_t priority = kUsualPriority;
  /// A request of the ingress has a secret that only the engine learns. A request of an engine
  /// names the secret that came with it, 0 if none came; if it is absent, ids decide.
  std::optional<std::uint64_t> way = std::nullopt;
  /// The start of a request that ran before this supervisor; absent if it begins now.
  std::optional<Instant> began_at = std::nullopt;
};
struct RequestEnded {
  PeerId peer = 0;
  std::string id;
  Outcome outcome = Outcome::completed;
};
struct RequestProgressed {
  PeerId peer = 0;
  std::vector<std::string> ids;
};
struct CancelConfirmed {
  PeerId peer = 0;
  std::string id;
};
struct PeerFatal {
  PeerId peer = 0;
  std::string reason;
  std::string detail;
};
struct PeerCleanedUp {
  PeerId peer = 0;
};

// --- load and admission --------------------------------------------------------------------------

/// The report of one data-parallel rank about itself, or the engine's own gauges (no peer). An
/// absent figure is unknown.
struct LoadReported {
  std::optional<PeerId> peer;
  std::uint32_t rank = 0;
  std::optional<std::uint64_t> active_decode_blocks;
  std::optional<std::uint64_t> kv_total_blocks;
  std::optional<std::uint64_t> active_prefill_tokens;
};
/// An operator or a reload has set all limits at once.
struct AdmissionLimitsChanged {
  AdmissionLimits limits;
};
struct LoadThresholdsChanged {
  LoadThresholds thresholds;
};

// --- checks, registries, cleanup -----------------------------------------------------------------

enum class CheckVerdict : std::uint8_t {
  passed,
  busy,
  failed,
  timed_out,
  not_asked,  // the supervisor lacked a resource that the check needs
};

struct CheckFinished {
  std::uint32_t check = 0;  // index into the settings
  CheckVerdict verdict = CheckVerdict::passed;
  std::string detail;
  Duration took{};  // from its sending to its result
};
/// A reload of the configuration changed the limits of the checks; the checks themselves stay.
struct HealthLimitsChanged {
  std::vector<std::uint32_t> failure_thresholds;  // one for each check of the settings
  Duration unresponsive_after{30'000};
  std::optional<Duration> stalled_after;
  std::optional<Duration> startup_timeout;
};
/// The running and waiting requests by the engine's own gauges, and its counter of generated
/// tokens; a figure that could not be read is absent.
struct GaugesRead {
  std::optional<std::uint64_t> in_flight;
  std::optional<std::uint64_t> tokens;
  /// Its load counter, which counts a request from its acceptance on.
  std::optional<std::uint64_t> load;
  /// Its KV cache in use, in millionths, summed over its ranks; it moves with each part of a
  /// prefill.
  std::optional<std::uint64_t> cache = std::nullopt;
};

enum class TokenOutcome : std::uint8_t {
  generated,  // 200 and a token
  refused,    // anything else: nothing is proven
  withheld,   // it was not sent, because the engine sleeps or works
  empty,      // 200 without a body
};

/// The ingress relays a request by which an operator puts the engine to sleep or wakes it up.
struct EngineRests {
  bool begins = false;
};

/// The request of AskToken has gone out.
struct TokenSent {
  std::uint64_t number = 0;
};
struct TokenAnswered {
  std::uint64_t number = 0;
  TokenOutcome outcome = TokenOutcome::generated;
};
/// One registry has removed this instance and seen it gone, or has given up on it.
struct RegistrySettled {
  std::uint32_t registry = 0;  // index into the settings
  bool confirmed = false;
  std::string detail;
};

/// The items of phase 3, in their order.
enum class CleanupItem : std::uint8_t { sdk, hooks, events, registries, engine, paths };

enum class ItemOutcome : std::uint8_t { pending, completed, timed_out, skipped, failed };

struct CleanupSettled {
  CleanupItem item = CleanupItem::hooks;
  ItemOutcome outcome = ItemOutcome::completed;
  std::string detail;
};

using Event =
    std::variant<SupervisorStarted, StopRecordRead, OwnSignal, DeletionSeen, EngineStopHook,
                 EngineReplaced, TimerExpired, ShimHello, ShimDisconnected, ShimGone,
                 StopSignalHeld, EngineStarted, EngineExited, EngineTreeSeen, EngineProcessDied,
                 EngineProcessStopped, DrainRequested, ResumeRequested, CancelRequested,
                 PeerConnected, PeerDisconnected, PeerGone, EndpointRegistered,
                 EndpointUnregistered, RequestBegun, RequestEnded, RequestProgressed,
                 CancelConfirmed, PeerFatal, PeerCleanedUp, LoadReported, AdmissionLimitsChanged,
                 LoadThresholdsChanged, CheckFinished, HealthLimitsChanged, GaugesRead, EngineRests,
                 TokenSent, TokenAnswered, RegistrySettled, CleanupSettled>;

}  // namespace lastcall::lifecycle
