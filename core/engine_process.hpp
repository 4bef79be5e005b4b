// The engine's process, as its shim reports it: whether it runs, how it ended, and who ordered it.
//
//   waiting -> running -> exited        (exited -> running: a shim that was given up is back)
//
// Rules:
//  1. An end is ordered when we, an earlier life of ours, or the shim itself had signalled it.
//  2. `was_killed` means that its main process had to be killed at the deadline; it costs the stop
//     its clean exit code.
//  3. Its tree is its own: the same shim reports what the main process leaves behind.
//
// Owned by the core's thread. Source: specification, 'Exit codes'; section 5, 'Shim'.
#pragma once

#include <optional>
#include <string>

#include "core/engine_tree.hpp"
#include "core/event.hpp"
#include "core/mixer.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

class EngineProcess {
 public:
  // --- what the shim reports ---
  /// True: it runs, and that is news.
  bool reported_by(ShimHello const& hello);
  /// It had started before the signal that the shim holds, though it is over by now.
  void assume_ran() { state_ = state_ == EngineState::waiting ? EngineState::running : state_; }
  /// False: that was known.
  bool started();
  /// Not to be called when it has exited.
  void exited(Instant now, EngineExited const& exited);
  /// It ended at that time, before we were notified.
  void ended_at(Instant at) { gone_at_ = at; }
  /// Its container is gone, and its process with it.
  void lost(Instant now, bool killed_for_memory);
  /// A stop has ended: the next engine is not this one.
  void forget();

  // --- who ended it ---
  void note_order() { ordered_ = true; }
  void note_kill() { killed_ = true; }
  /// The shim KILLs at the same point by itself, whichever of us was first.
  void judge_kill(bool was_due);
  void restore_killed(bool killed) { killed_ = killed; }

  EngineState state() const { return state_; }
  bool is_running() const { return state_ == EngineState::running; }
  bool has_exited() const { return state_ == EngineState::exited; }
  bool is_ordered() const { return ordered_; }
  bool was_killed() const { return killed_; }
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
  EngineTree tree_;
};

/// <csignal> of the C++ standard does not name it.
inline constexpr int kSigKill = 9;

}  // namespace lastcall::lifecycle
