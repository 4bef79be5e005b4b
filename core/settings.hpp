// The settings that the core gets once, at its start. Values only; the config's schema is
// translated to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/admission_limits.hpp"
#include "core/budgets.hpp"

namespace lastcall::lifecycle {

enum class MigratePolicy : std::uint8_t { at_end, at_start };
enum class SecondSignal : std::uint8_t { ignore, force };
enum class AfterStop : std::uint8_t { automatic, rearm, exit };
enum class OnExit : std::uint8_t { fatal, propagate };

struct CheckSettings {
  std::string name;
  /// The number of consecutive definite failures that makes the engine dead.
  std::uint32_t failure_threshold = 2;
};

struct HealthSettings {
  std::vector<CheckSettings> checks;
  /// Timeouts alone are fatal after this long, and only while no byte of any request moves.
  Duration unresponsive_after{30'000};
  /// Work in flight without progress for this long is `wedged`; 0 means never. If it is unset,
  /// EngineHealth's own limit applies where tokens show stalls; otherwise never.
  std::optional<Duration> stalled_after;
  /// Whether the engine's token counter rises with each token, so that it proves a stall when it
  /// does not move.
  bool tokens_show_stalls = false;
  /// Opt-in: the longest time in `starting` while an engine runs.
  std::optional<Duration> startup_timeout;
};

/// The request of one token that the supervisor sends (token_probe.hpp).
struct TokenSettings {
  /// Whether it is sent in a drain, to prove that the gauges are up to date.
  bool barrier = false;
  /// Whether it is sent to an idle engine, to test whether that still generates.
  bool canary = false;
};

struct Settings {
  ShutdownSettings shutdown;
  std::optional<Duration> pod_grace;
  MigratePolicy migrate = MigratePolicy::at_end;
  SecondSignal second_signal = SecondSignal::ignore;
  AfterStop after_stop = AfterStop::automatic;
  OnExit on_exit = OnExit::fatal;
  /// preStop mode: `after_stop: auto` means rearm, and an engine without a shim is distinguished
  /// from the next one by watching it.
  bool lifecycle_hooks = false;
  std::string stop_signal = "TERM";
  /// The time for processes that an engine leaves behind after its stop signal, until the KILL
  /// point.
  Duration rest_grace{10'000};
  /// Whether the engine's own server ends its workers before it ends, so that workers that are left
  /// get no grace.
  bool main_ends_workers = false;
  /// Names of processes without which the engine is dead; a trailing '*' matches any suffix.
  std::vector<std::string> essential_processes;
  HealthSettings health;
  std::uint32_t registries = 0;
  bool cleanup_hooks = false;
  bool cleanup_paths = false;
  bool events = false;
  /// Whether all requests reach the engine through the ingress, so that its count is complete.
  bool ingress_is_exclusive = false;
  /// Requests of a disconnected peer become `lost` after this time.
  Duration reconnect_window{5'000};
  /// Live requests that one SDK peer may have.
  std::uint32_t peer_requests = 20'000;
  /// Live requests that all SDK peers may have together.
  std::uint32_t peers_requests = 50'000;
  /// The refresh period of the engine's gauges; set if they can be read.
  std::optional<Duration> gauge_refresh;
  /// Whether the engine's load counter is known to count; otherwise it is trusted once it was above
  /// 0.
  bool load_counts = false;
  TokenSettings token;
  AdmissionLimits admission;
  LoadThresholds load;
};

/// A starting supervisor waits this long for a shim or a stop record before it may register, and
/// a restarted one this long for its peers before a gate counts as empty.
inline constexpr Duration kRecoveryWindow{2'000};
/// Phase 3 waits this long for a peer that disconnected before its cleanup.done; an SDK tries to
/// reconnect every 50 ms.
inline constexpr Duration kCleanupReturn{1'000};
/// Without a pidfd a shim is lost when its boot is not back within this time.
inline constexpr Duration kShimReturn{1'000};
/// The shim ends everything 5 s after the engine's exit, so the supervisor's remaining work has to
/// take less.
inline constexpr Duration kAfterEngine{4'500};
/// A shim that does not report what an engine has left behind kills it after this time.
inline constexpr Duration kRestOfTree{1'000};
/// A killed process is gone after this time.
inline constexpr Duration kKillTaken{50};
/// If the supervisor wakes this much too late, it was not running, and silence that was counted
/// meanwhile proves nothing.
inline constexpr Duration kOwnAbsence{1'000};
/// A preStop call that no pod's deletion explains returns within this time.
inline constexpr Duration kRestartHook{5'000};
/// An engine that was ordered to end counts as replaced after this time, whatever it shows.
inline constexpr Duration kReplacedAnyway{30'000};
/// After this time nothing sends requests here any more: a pod that stays is taken out of its
/// Service only by the readiness probe, which runs every 2 s.
inline constexpr Duration kUntilUnready{3'000};
/// A signal that only a supervisor beside a shim received becomes its own restart after this time.
inline constexpr Duration kOwnRestartDelay{2'000};

}  // namespace lastcall::lifecycle
