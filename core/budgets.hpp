// The only calculation of the time budgets of a stop.
//
// Invariants:
//  1. There is one absolute deadline D = cause + total; budgets are caps within it and are never
//     added up.
//  2. The reserve, the settle and the kill margin are taken off before any phase gets time, so an
//     earlier phase can never use them.
//  3. Whatever the settings are, the numbers fit: a value that does not fit is clamped, and this is
//     reported.
//  4. Time that one phase cannot use is not kept for it: the reserve is never longer than phase 3
//     can use, and time that deregistration does not use goes to `late_accept`.
//
// The core, `lastcall plan`, the chart's notes and the shim agree on these numbers; a contract test
// holds the shim's own copy of the arithmetic (it links nothing of ours) to this one.
// Pure values, no thread rule. Source: specification, 'Critical Timing Constraint'.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

/// The user's settings, in `shutdown:` of the config. Defaults are the documented ones.
struct ShutdownSettings {
  Duration grace_period{60'000};
  Duration deregister_timeout{5'000};
  Duration late_accept{1'000};
  Duration cleanup_reserve{5'000};
  Duration cancel_settle{1'000};
  Duration drain_unknown{15'000};
  /// Whether phase 3 has to leave time for events and for registries; by default it does for both.
  bool events = true;
  bool registries = true;
};

/// A fixed part of the pod's grace for the kubelet's own work.
inline constexpr Duration kPodMargin{2'000};
/// The total budget never goes below this, however small the pod's grace is.
inline constexpr Duration kMinimumTotal{1'000};
/// SDK cleanup and hooks have this much together. It is always counted, because an SDK may connect
/// at any time.
inline constexpr Duration kAcksAndHooksCap{2'000};
/// The last event has this much time, and so has the removal of what registries hold.
inline constexpr Duration kDisconnectCap{500};
/// The stop of an engine takes this much of phase 3.
inline constexpr Duration kEngineStop{2'000};
/// A fatal stop is abbreviated to this much.
inline constexpr Duration kFatalTotal{5'000};

/// Lengths; the fixed points are counted back from the deadline by the functions below.
struct Budgets {
  Duration total{};
  Duration deregister_timeout{};
  Duration late_accept{};
  Duration shared{};  // deregistration and late_accept have this much together
  Duration reserve{};
  Duration settle{};
  Duration kill_margin{};
  Duration disconnects{};  // events and registries have this much of the reserve together

  /// Time that deregistration has not used goes to `late_accept`, up to its configured length.
  constexpr Duration late_accept_after(Duration used) const {
    Duration const left = shared > used ? shared - used : Duration{0};
    return late_accept < left ? late_accept : left;
  }
  /// The time from the cause after which new requests are refused at the latest.
  constexpr Duration closed_after() const {
    return deregister_timeout + late_accept_after(deregister_timeout);
  }
  constexpr Instant deadline(Instant cause) const { return cause + total; }
  /// Requests that still run are requested to stop at this time.
  constexpr Instant stop_cancel_at(Instant deadline) const { return deadline - reserve - settle; }
  /// Requests that still run are killed at this time, when phase 3 begins at the latest.
  constexpr Instant kill_cancel_at(Instant deadline) const { return deadline - reserve; }
  /// The engine gets its TERM by this time (2 s before D, scaled with the kill margin).
  constexpr Instant engine_term_at(Instant deadline) const { return deadline - 2 * kill_margin; }
  /// The shim sends the signal without an order if none has come by this time (1.5 s before D,
  /// scaled).
  constexpr Instant shim_term_at(Instant deadline) const { return deadline - 3 * kill_margin / 2; }
  constexpr Instant engine_kill_at(Instant deadline) const { return deadline - kill_margin; }
  /// The engine's processes are waited for until this time; what is left of the list has the rest.
  constexpr Instant killed_by(Instant deadline) const { return deadline - kill_margin / 2; }

  friend bool operator==(Budgets const&, Budgets const&) = default;
};

struct BudgetPlan {
  Budgets budgets;
  /// One sentence for each setting that did not fit, with the numbers; empty if all fit.
  std::vector<std::string> warnings;
};

/// `pod_grace` is terminationGracePeriodSeconds, absent outside a pod; `spent` is the time that a
/// preStop hook has already used of it.
Budgets budgets_within(ShutdownSettings const& settings, std::optional<Duration> pod_grace,
                       Duration spent = Duration{0});

/// The budgets, and the settings that do not fit.
BudgetPlan derive_budgets(ShutdownSettings const& settings, std::optional<Duration> pod_grace,
                          Duration spent = Duration{0});

/// Cuts budgets to a shorter total (fatal stops, a deadline that moved closer).
Budgets clamp_to_total(ShutdownSettings const& settings, Duration total);

/// The time that phase 3 needs before the KILL point, and the budgets with a reserve that leaves
/// room for it, at most half of the total. If the configured reserve is shorter, the drain ends
/// earlier; otherwise the engine's stop would cut off hooks, or streams whose clients have not been
/// notified.
Duration cleanup_need(Budgets const& budgets, bool acks_or_hooks);
Budgets with_room_for_cleanup(Budgets budgets, bool acks_or_hooks);

}  // namespace lastcall::lifecycle
