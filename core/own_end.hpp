// Decides how this supervisor itself ends: after a stop, or by its own restart beside a shim that
// continues.
//
// A signal that only the supervisor received, while a shim runs beside it, means that the
// supervisor restarts: the engine stays, while registrations and ingress go. If the shim reports a
// signal too, or if the pod proves to be deleted, it is a stop.
//
//   announced      the shim may still report a signal, which makes it a stop
//   deregistering  until all registries have confirmed
//   accepting      late requests of the ingress are served
//   refusing       those that run may end
//   stopping       they were asked to
//   killing        they were cut off
//
// Stages only rise, until a stop takes over. Pure values, no thread rule. Source: specification,
// 'Causes of a stop'.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/budgets.hpp"
#include "core/instant.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"
#include "core/state_table.hpp"

namespace lastcall::lifecycle {

enum class RestartStage : std::uint8_t {
  none,
  announced,
  deregistering,
  accepting,
  refusing,
  stopping,
  killing,
};
enum class RestartEvent : std::uint8_t { signal, settled, due, stop_begins };

inline constexpr StateTable<RestartStage, RestartEvent, 7, 4> kRestartTable = [] {
  using enum RestartStage;
  constexpr char const* kNone = "nothing is under way";
  constexpr char const* kJoins = "one restart is enough";
  constexpr char const* kNotAsked = "the registries have no order yet";
  constexpr char const* kOver = "the registries have answered or timed out";
  return StateTable<RestartStage, RestartEvent, 7, 4>{{
      // signal, settled, due, stop_begins
      {{move_to(announced), ignored(none, kNone), ignored(none, kNone), ignored(none, kNone)}},
      {{ignored(announced, kJoins), ignored(announced, kNotAsked), move_to(deregistering),
        move_to(none)}},
      {{ignored(deregistering, kJoins), move_to(accepting), move_to(accepting), move_to(none)}},
      {{ignored(accepting, kJoins), ignored(accepting, kOver), move_to(refusing), move_to(none)}},
      {{ignored(refusing, kJoins), ignored(refusing, kOver), move_to(stopping), move_to(none)}},
      {{ignored(stopping, kJoins), ignored(stopping, kOver), move_to(killing), move_to(none)}},
      {{ignored(killing, kJoins), ignored(killing, kOver),
        ignored(killing, "only the exit is left"), move_to(none)}},
  }};
}();

class OwnEnd {
 public:
  using Stage = RestartStage;
  enum class Order : std::uint8_t { none, deregister, stop_relayed, kill_relayed, exit };
  /// The facts that decide about the restart.
  struct Facts {
    bool registries_settled = true;
    bool ingress_is_empty = true;
    bool ingress_has_relayed = false;
    Budgets budgets;  // as for a stop at the time of the signal
  };

  // --- the restart ---
  void begin_restart(Instant now) {
    if (enter(RestartEvent::signal, now + kOwnRestartDelay)) {
      signalled_at_ = now;
    }
  }
  void stop_begins() { enter(RestartEvent::stop_begins, {}); }
  /// Returns one order at a time, until there is none or the exit.
  Order next(Instant now, Facts const& facts) {
    Instant const deadline = facts.budgets.deadline(signalled_at_);
    bool const is_due = now >= next_;
    if (stage_ == Stage::announced && is_due) {
      enter(RestartEvent::due, now + facts.budgets.deregister_timeout);
      return Order::deregister;
    }
    if (stage_ == Stage::deregistering && (facts.registries_settled || is_due)) {
      Instant const late = now + std::max(facts.budgets.late_accept, kUntilUnready);
      Instant const cancels = facts.budgets.stop_cancel_at(deadline);
      enter(facts.registries_settled ? RestartEvent::settled : RestartEvent::due,
            facts.ingress_has_relayed ? std::min(late, cancels) : now);
    }
    if (stage_ == Stage::accepting && now >= next_) {
      enter(RestartEvent::due, facts.budgets.stop_cancel_at(deadline));
    }
    if (refuses() && (facts.ingress_is_empty || (stage_ == Stage::killing && now >= next_))) {
      return Order::exit;
    }
    if (stage_ == Stage::refusing && now >= next_) {
      enter(RestartEvent::due, facts.budgets.kill_cancel_at(deadline));
      return Order::stop_relayed;
    }
    if (stage_ == Stage::stopping && now >= next_) {
      enter(RestartEvent::due, now + facts.budgets.settle);
      return Order::kill_relayed;
    }
    return Order::none;
  }

  bool is_restarting() const { return stage_ != Stage::none; }
  Stage stage() const { return stage_; }
  bool refuses() const { return stage_ >= Stage::refusing; }
  Instant signalled_at() const { return signalled_at_; }
  std::optional<Instant> next_deadline() const {
    return is_restarting() ? std::optional(next_) : std::nullopt;
  }

  // --- the end ---
  /// A signal to the supervisor requests its end, so it waits for no further shim.
  void signalled() { signalled_ = true; }
  bool was_signalled() const { return signalled_; }
  /// The exit is ordered, and nothing is ordered after it.
  void end() { ended_ = true; }
  bool has_ended() const { return ended_; }

  void fingerprint(Mixer& m) const { m.all(signalled_, stage_, next_deadline()); }

 private:
  bool enter(RestartEvent event, Instant until) {
    auto const& cell = cell_of(kRestartTable, stage_, event);
    if (cell.kind != CellKind::move) {
      return false;
    }
    stage_ = cell.to;
    next_ = until;
    return true;
  }

  Stage stage_ = Stage::none;
  Instant next_{};
  Instant signalled_at_{};
  bool signalled_ = false;
  bool ended_ = false;
};

}  // namespace lastcall::lifecycle
