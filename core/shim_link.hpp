// The connection of the engine's shim: which of its boots is served, and whether it is connected.
//
//   never     no shim has connected since the start, or since a stop that had none
//   connected its connection stands
//   away      the connection has ended; it may come back
//   gone      it is lost, and with it the engine's container
//   released  a stop has ended and its shim was let go: the next one is awaited
//
// Rules:
//  1. One boot is served from its hello to the end of its stop; others have to try again.
//  2. Unless its process is watched, a shim is lost when it is not back within kShimReturn.
//
// Owned by the core's thread. Source: specification, 'Shims'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/event.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"
#include "core/state_table.hpp"

namespace lastcall::lifecycle {

enum class ShimState : std::uint8_t { never, connected, away, gone, released };
enum class ShimEvent : std::uint8_t { hello, disconnected, lost, stop_ended };

inline constexpr StateTable<ShimState, ShimEvent, 5, 4> kShimTable = [] {
  using enum ShimState;
  constexpr char const* kNone = "there is none";
  constexpr char const* kKnown = "its connection has ended already";
  return StateTable<ShimState, ShimEvent, 5, 4>{{
      // hello, disconnected, lost, stop_ended
      {{move_to(connected), ignored(never, kNone), ignored(never, kNone), move_to(never)}},
      {{move_to(connected), move_to(away), move_to(gone), move_to(released)}},
      {{move_to(connected), ignored(away, kKnown), move_to(gone), move_to(released)}},
      {{move_to(connected), ignored(gone, kKnown), move_to(gone), move_to(released)}},
      {{move_to(connected), ignored(released, kNone), ignored(released, kNone), move_to(never)}},
  }};
}();

class ShimLink {
 public:
  void hello(ShimHello const& hello) {
    enter(ShimEvent::hello);
    boot_ = hello.boot;
    run_ = hello.run;
    oom_ = false;
    lost_at_.reset();
  }
  /// Returns false if it had no connection.
  bool disconnected(Instant now, ShimDisconnected const& gone) {
    if (!enter(ShimEvent::disconnected)) {
      return false;
    }
    oom_ = gone.oom;
    lost_at_ = gone.watched ? std::nullopt : std::optional(now + kShimReturn);
    return true;
  }
  /// The shim will not come back. `oom`: the kernel has killed in its container for lack of memory.
  void lost(bool oom) {
    if (enter(ShimEvent::lost)) {
      oom_ = oom_ || oom;
      lost_at_.reset();
    }
  }
  void stop_ended() {
    enter(ShimEvent::stop_ended);
    lost_at_.reset();
  }

  ShimState state() const { return state_; }
  bool is_known() const { return state_ != ShimState::never && state_ != ShimState::released; }
  bool is_connected() const { return state_ == ShimState::connected; }
  /// Whether a stop is over and no shim has connected since.
  bool is_released() const { return state_ == ShimState::released; }
  /// Whether it shares the supervisor's container: then it owns the signals and ends with the
  /// supervisor.
  bool runs_here() const { return is_known() && run_; }
  bool was_killed_for_memory() const { return oom_; }
  std::string const& boot() const { return boot_; }
  /// If it is not back by then, it is lost.
  std::optional<Instant> next_deadline() const { return lost_at_; }

  void fingerprint(Mixer& m) const {
    m.put(state_);
    if (is_known()) {
      m.all(std::string_view(boot_), run_, lost_at_);
    }
  }

 private:
  /// Returns false if the table ignores the event.
  bool enter(ShimEvent event) {
    auto const& cell = cell_of(kShimTable, state_, event);
    state_ = cell.to;
    return cell.kind == CellKind::move;
  }

  ShimState state_ = ShimState::never;
  std::string boot_;
  bool run_ = false;
  bool oom_ = false;
  std::optional<Instant> lost_at_;
};

}  // namespace lastcall::lifecycle
