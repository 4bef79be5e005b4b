// The instants of a drain or stop: its only deadline, the budgets within it, and what else bounds
// it.
//
// Invariants:
//  1. One absolute deadline, fixed by the first cause; it may move closer, never away.
//  2. Nothing before phase 3 may use the reserve: at stop_cancel_point() everything that runs is
//     requested to stop, at kill_cancel_point() it is killed and phase 3 begins.
//  3. A request that was given time to end before a bound was known has to keep to that bound, too.
//  4. A preStop call of the engine's container bounds phases 1 and 2: by D - reserve where the pod
//     is being deleted, else by kRestartHook. It fixes no deadline of its own beyond that.
//
// Owned by the core's thread. Source: specification, 'The deadline'.
#pragma once

#include <optional>

#include "core/budget_book.hpp"
#include "core/cause.hpp"
#include "core/hook_bound.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"
#include "core/vocabulary.hpp"

namespace lastcall::lifecycle {

class StopClock {
 public:
  using Hook = HookBound::Hook;
  struct Stop {
    Cause cause;
    StopMode mode = StopMode::graceful;
    Instant cause_at;
    Instant deadline;
    bool in_starting = false;  // there was nothing to drain
  };

  /// `settings` outlives this.
  explicit StopClock(Settings const& settings) : book_(settings) {}

  /// `abbreviated`: fatal, or nothing to drain.
  void begin_stop(Instant now, Stop stop, bool abbreviated);
  /// The stop has to end within that time, with budgets of that length.
  void shorten(Instant now, Duration within);
  /// The stop has to end by `deadline`, too. Returns true if that moved it closer.
  bool limit_deadline(Instant deadline);
  /// The pod's grace is no more than this. Returns true if the deadline of the stop under way moved
  /// closer.
  bool limit_grace(Duration grace, bool stop_is_over);
  /// Requests of the drain or stop under way may run until then; an earlier limit remains.
  void limit_drain(std::optional<Instant> limit) { drain_limit_ = earlier_of(drain_limit_, limit); }
  /// SDK cleanup or hooks will need their time, so a shorter reserve begins earlier.
  void expect_acks_or_hooks(bool expected);
  /// Running requests were requested to end, and are killed after the settle time. A second call
  /// changes nothing.
  void ask_to_end(Instant now) { kill_at_ = kill_at(now); }
  /// Requests need not end any more, and only the hook bounds the drain. `keeps_limit`: the drain's
  /// own limit still bounds it, too.
  void end_drain(bool keeps_limit);
  void forget_stop();
  void restore(std::optional<Stop> const& stop, std::optional<Instant> drain_limit,
               std::optional<Hook> const& hook);

  // --- preStop ---
  void begin_hook(Instant now, bool began_drain);
  /// The pod is being deleted, so a stop's bound replaces the hook's.
  void explain_hook();
  /// Restores a call that an earlier life has received: the bound of the drain counts from that
  /// first call, within the grace that was read. Returns true if the deadline of the stop under way
  /// moved closer.
  bool hook_was_called(Hook const& earlier, bool stop_is_over);
  /// The latest time at which the hook's call returns.
  std::optional<Instant> hook_limit() const;
  /// The hook's bound, with the grace of the deletion if it was read.
  std::optional<Hook> reported_hook() const;

  std::optional<Stop> const& stop() const { return stop_; }
  Budgets budgets() const;
  /// The budgets of a stop by a cause at that time, without what preStop has used of the grace.
  Budgets budgets_of(Instant cause_at) const { return book_.of_stop(hook.spent_at(cause_at)); }
  std::optional<Instant> drain_limit() const { return drain_limit_; }
  std::optional<Instant> stop_cancel_point() const;
  /// The time at which requests that had to end are killed, and phase 2 ends at the latest.
  std::optional<Instant> kill_cancel_point() const;
  /// The time at which requests that were asked to end are killed. If none were asked, it is the
  /// time that would apply if they were asked now.
  Instant kill_at(Instant now) const;

  void fingerprint(Mixer& m, bool drains) const;

  HookBound hook;

 private:
  void keep_reserve();

  BudgetBook book_;
  std::optional<Stop> stop_;
  std::optional<Instant> drain_limit_;
  std::optional<Instant> kill_at_;
};

}  // namespace lastcall::lifecycle
