// The pure core turns facts of the world into orders to the world; the same events give the same
// actions. It holds the machines of this folder (docs/architecture.md has them in a table) and
// applies the joint rules between them in one place, apply_joint_rules().
//
// Invariants, each held by simulation and exploration in tests/simulation:
//  1. Exit is ordered exactly once per shim boot, and by the deadline.
//  2. Phases only rise within a stop; the reserve is untouched by earlier phases.
//  3. Cause and outcome give the exit code by the table in exit_code.hpp.
//  4. Each request ends exactly once and is counted once.
//  5. Deregistration is ordered before any stop signal to the engine.
//  6. Nothing is ordered after the exit.
//  7. While a stop is under way, a connected shim has a will that matches the present state.
//
// No I/O, no clock, no thread, no log. One thread owns it; the shell passes `now`, obeys the
// actions in order and calls again with TimerExpired at next_deadline().
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/machines.hpp"

namespace lastcall::lifecycle {

class Lifecycle {
 public:
  explicit Lifecycle(Settings settings);
  /// A copy continues from the same state independently, which the exploration of possible events
  /// uses.
  Lifecycle(Lifecycle const&) = default;
  Lifecycle& operator=(Lifecycle const&) = delete;

  /// Applies one event. The span and the views in it are valid until the next call.
  std::span<Action const> step(Instant now, Event const& event);
  /// The time at which step(TimerExpired) is due; absent if only an event can change anything.
  std::optional<Instant> next_deadline() const;

  Snapshot snapshot() const;
  /// The report is final once PublishReport was ordered; before that, it has what is known so far.
  Report report(Instant now) const;
  /// Cancels that wait for a peer (after CancelsReady); they count as handed over.
  CancelBatch take_cancels(PeerId peer, std::size_t max_ids);
  /// Whether the supervisor has to end while the engine stays.
  bool is_restarting() const { return m_.own.is_restarting(); }
  /// Whether a shim of this boot may take part now; otherwise it receives `busy` and tries again.
  bool accepts_shim(std::string_view boot) const;

  EndpointTracker const& endpoints() const { return m_.endpoints; }
  RequestLedger const& requests() const { return m_.ledger; }
  CutRequests const& cut_requests() const { return m_.cut; }
  EngineHealth const& health() const { return m_.health; }
  LoadMonitor const& loads() const { return m_.loads; }
  Admission const& admission() const { return m_.admission; }
  Settings const& settings() const { return *settings_; }
  std::vector<RegistryRecord> const& registries() const { return m_.registrations.records(); }
  /// The instants of the drain or stop under way.
  StopClock const& clock() const { return m_.coordinator.clock; }
  /// The shortest length of phase 1.
  Duration late_accept() const { return m_.coordinator.clock.budgets().late_accept; }
  /// The time until which SDK peers of an earlier life may come back; absent if none is missing.
  std::optional<Instant> peers_expected_until() const { return m_.recovery.peers_until(); }
  /// A hash of everything that decides what comes next, with instants relative to `now`. Two cores
  /// with the same fingerprint behave alike, except for their reports; the exploration of states
  /// uses it.
  std::uint64_t fingerprint(Instant now) const;

 private:
  void apply_joint_rules(Instant now);

  std::shared_ptr<Settings const> settings_;  // one for all copies
  Machines m_{*settings_};
};

}  // namespace lastcall::lifecycle
