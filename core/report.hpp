// The account of a drain or stop: the snapshot while it runs, the report when it has ended.
// Values only; the shell turns them into JSON, text and metrics.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/cleanup_sequence.hpp"
#include "core/own_end.hpp"
#include "core/registrations.hpp"
#include "core/remembered.hpp"
#include "core/shutdown_coordinator.hpp"

namespace lastcall::lifecycle {

enum class InFlightSource : std::uint8_t { unknown, sdk, gauges, ingress };

namespace vocabulary {
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<InFlightSource>{"unknown", "sdk",
                                                                          "gauges", "ingress"};
template <>
inline constexpr std::array<std::string_view, 6> kWordsOf<Verdict>{
    "starting", "healthy", "busy", "unresponsive", "wedged", "dead"};
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<PhaseOutcome>{
    "running", "completed", "timed_out", "skipped", "failed"};
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<ItemOutcome>{
    "pending", "completed", "timed_out", "skipped", "failed"};
template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<RegistryRecord::State>{
    "absent", "registered", "deregistering", "confirmed", "failed"};
template <>
inline constexpr std::array<std::string_view, 6> kWordsOf<CleanupItem>{
    "sdk", "hooks", "events", "registries", "engine", "paths"};
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<TokenOutcome>{"generated", "refused",
                                                                        "withheld", "empty"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<TokenUse>{"barrier", "canary"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<EngineState>{"waiting", "running",
                                                                       "exited"};
}  // namespace vocabulary

/// A preStop call of the engine's container, until the engine was replaced.
struct HookState {
  Instant called_at;
  Instant limit;          // the latest time at which it returns
  bool deletion = false;  // the pod is being deleted, too
  bool waits = false;     // it has not returned yet
};
/// The supervisor waits for another engine; if this one is condemned, its liveness probe has to
/// fail.
struct ReplacementState {
  Instant since;
  bool condemned = false;
};

/// Limits, and what is measured against them.
struct AdmissionState {
  AdmissionLimits limits;
  LoadThresholds thresholds;
  std::size_t running = 0;
  std::size_t waiting = 0;
  std::size_t without_first_byte = 0;
  bool busy = false;
};

struct Snapshot {
  Phase phase = Phase::starting;
  Instant phase_began;
  std::optional<ShutdownCoordinator::Stop> stop;
  /// In a drain with a time limit, the time at which requests that still run are requested to end;
  /// in a stop whose work nothing shows, the earlier time at which its drain ends.
  std::optional<Instant> cut_at;
  Verdict verdict = Verdict::starting;
  std::string_view verdict_reason;
  bool silent = false;  // serving with an unresponsive engine: nothing new should come
  InFlightSource source = InFlightSource::unknown;
  std::size_t in_flight = 0;  // users' requests
  std::size_t late = 0;
  std::uint32_t active_graceful = 0;
  std::size_t unconfirmed_cancels = 0;
  bool shim_connected = false;
  bool shim_known = false;
  EngineState engine = EngineState::waiting;
  bool deletion_seen = false;
  std::optional<RestartStage> own_restart;
  std::optional<HookState> hook;
  std::optional<ReplacementState> replacement;
  /// Whether every registry has this instance, or there is none.
  bool registered = false;
  std::uint32_t peers = 0;
  std::uint64_t ignored_signals = 0;
  AdmissionState admission;
};

struct Report {
  std::string cause;
  std::string detail;
  StopMode mode = StopMode::graceful;
  int exit_code = 0;
  bool stopped_in_starting = false;
  PhaseRecord deregistering;
  PhaseRecord draining;
  PhaseRecord cleaning_up;
  OutcomeCounts requests{};
  InFlightSource source = InFlightSource::unknown;
  Duration longest_request{};
  /// The last known number of requests in flight when time ended phase 2.
  std::optional<std::uint64_t> in_flight_at_end;
  /// How many requests were in flight before a restart, if not all were seen to end: unseen.hpp.
  std::optional<std::uint64_t> unseen;
  Duration time_left{};
  std::array<CleanupRecord, kCleanupItems> cleanup{};
  std::vector<RegistryRecord> registries;
  bool engine_known = false;
  EngineState engine = EngineState::waiting;
  EngineExit engine_exit;
  bool engine_ordered = false;
  /// The engine's processes that were left at the end, or for which the stop had to wait.
  std::uint32_t rest_alive = 0;
  std::vector<std::string> rest_names;
  std::uint64_t ignored_signals = 0;
};

}  // namespace lastcall::lifecycle
