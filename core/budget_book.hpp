// The budgets that may be in force: those of a stop, of a drain, and of a container's restart.
//
// The pod's grace may turn out shorter than configured, and whether SDKs or hooks want time in
// phase 3 changes as peers come and go; both change the budgets here and nowhere else. Owned by the
// core's thread. Source: specification, 'Budgets'; the arithmetic is budgets.hpp.
#pragma once

#include <optional>

#include "core/budgets.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

class BudgetBook {
 public:
  /// `settings` outlives this.
  explicit BudgetBook(Settings const& settings);

  /// The budgets of a stop; `spent` is the part of the pod's grace that preStop has used.
  Budgets of_stop(Duration spent) const {
    return budgets_within(settings_.shutdown, pod_grace_, spent);
  }
  /// Makes these budgets those of the stop that begins, with room for its cleanup.
  void begin_stop(Budgets const& budgets) {
    stop_ = with_room_for_cleanup(budgets, acks_or_hooks_);
  }
  /// The stop under way gets no more than this in total.
  void shorten_stop(Duration total) { begin_stop(clamp_to_total(settings_.shutdown, total)); }
  /// Returns false if the pod's grace is known to be that short already.
  bool limit_grace(Duration grace);
  /// Returns false if this was known already.
  bool expect_acks_or_hooks(bool expected);

  Budgets const& stop() const { return stop_; }
  /// The budgets of a drain without a deadline.
  Budgets const& drain() const { return drain_; }
  /// The budgets of a hook that no deletion explains.
  Budgets const& restart() const { return restart_; }
  /// The pod's grace that was read, if it differs from the configured one.
  std::optional<Duration> read_grace() const {
    return pod_grace_ != settings_.pod_grace ? pod_grace_ : std::nullopt;
  }
  ShutdownSettings const& settings() const { return settings_.shutdown; }

 private:
  Settings const& settings_;
  std::optional<Duration> pod_grace_;
  bool acks_or_hooks_ = false;
  Budgets stop_;
  Budgets drain_;
  Budgets const restart_;
};

}  // namespace lastcall::lifecycle
