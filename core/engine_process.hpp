// The engine's process as its shim reports it: whether it runs, how it ended, and whether that was
// ordered.
//
//   waiting -> running -> exited        (exited -> running: a shim that was given up is back)
//
// Rules:
//  1. An end is ordered if this supervisor, an earlier life of it, or the shim itself had signalled
//     the process.
//  2. `was_killed` means that its main process had to be killed at the deadline, so the stop has no
//     clean exit code.
//  3. The tree of processes is a machine of its own (engine_tree.hpp).
//
// Owned by the core's thread. Source: specification, 'Exit codes' and 'Shim'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/engine_tree.hpp"
#include "core/event.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

/// When the shim reports the engine's end: as it happens, or to a supervisor that comes later and
/// may have missed the start.
enum class Reported : std::uint8_t { at_once, later };

class EngineProcess {
 public:
  // --- what the shim reports ---
  /// Returns true if the engine runs and this was not known.
  bool reported_by(ShimHello const& hello);
  /// The process had started before the signal that the shim holds, although it has ended by now.
  void assume_ran() { state_ = state_ == EngineState::waiting ? EngineState::running : state_; }
  /// Returns false if this was known already.
  bool started();
  /// Must not be called when it has exited. With the code of a failed exec, and without a start
  /// before it, a report `at_once` means that the command could not be run.
  void exited(Instant now, EngineExited const& exited, Reported when);
  /// The engine ended at that time, before the supervisor was notified.
  void ended_at(Instant at) { gone_at_ = at; }
  /// Its container is gone, and its process with it.
  void lost(Instant now, bool killed_for_memory);
  /// A stop has ended, and the next engine is another one.
  void forget();

  // --- who ended it ---
  void note_order() { ordered_ = true; }
  void note_kill() { killed_ = true; }
  /// The shim sends KILL at this point even without an order, so a kill that was due counts,
  /// whoever sent it.
  void judge_kill(bool was_due);
  void restore_killed(bool killed) { killed_ = killed; }

  EngineState state() const { return state_; }
  bool is_running() const { return state_ == EngineState::running; }
  bool has_exited() const { return state_ == EngineState::exited; }
  bool is_ordered() const { return ordered_; }
  bool was_killed() const { return killed_; }
  bool could_not_run() const { return could_not_run_; }
  EngineExit const& exit() const { return exit_; }
  std::optional<Instant> gone_at() const { return gone_at_; }
  /// 'the engine was killed by signal 9 (137)'.
  std::string exit_text(bool ordered) const;

  EngineTree& tree() { return tree_; }
  EngineTree const& tree() const { return tree_; }

  void fingerprint(Mixer& m) const;

 private:
  EngineState state_ = EngineState::waiting;
  EngineExit exit_;
  std::optional<Instant> gone_at_;
  bool ordered_ = false;
  bool killed_ = false;
  bool could_not_run_ = false;
  EngineTree tree_;
};

/// The C++ standard's <csignal> does not name SIGKILL.
inline constexpr int kSigKill = 9;

}  // namespace lastcall::lifecycle
