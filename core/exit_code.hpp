// The only table of exit codes, which are those of the shim (and so of the engine's container) and
// of `lastcall run`.
//
//   0    graceful stop: the engine ended on our order, whatever its status; or died unordered
//        during the drain with in-flight known to be 0; or was stopped during `starting`
//   1    fatal; the engine exited by itself in `starting` or `serving`, 0 included
//        (engine.on_exit: propagate passes its code, 128+n for signals); or died unordered in a
//        drain with work in flight; or (the shim's own judgement) no supervisor ever saw the
//        engine that a shim with a socket stopped
//   137  graceful stop in which the engine's main process had to be KILLed at the deadline
//   126  the command cannot be executed
//   127  the command was not found
//   2 never comes from here: bad usage is found before there is an engine.
//
// Pure function. Source: specification, 'Exit codes'.
#pragma once

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/settings.hpp"

namespace lastcall::lifecycle {

inline constexpr int kExitClean = 0;
inline constexpr int kExitFatal = 1;
inline constexpr int kExitKilled = 137;
/// The codes of a shim that cannot run the command, as a shell gives them (shim/exit_code.hpp).
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

struct ExitFacts {
  StopMode mode = StopMode::graceful;
  bool stopped_in_starting = false;
  /// The main process did not end by itself: the KILL at the deadline ended it, or nothing did.
  bool engine_killed = false;
  /// It died unordered in the drain while requests were, or may have been, in flight.
  bool died_with_work = false;
  /// The engine's own exit is the cause of a fatal stop.
  bool caused_by_engine_exit = false;
  /// The shim could not execute the command; the engine's code states why.
  bool could_not_run = false;
  EngineExit engine;
  OnExit on_exit = OnExit::fatal;
};

constexpr int exit_code(ExitFacts const& facts) {
  if (facts.mode == StopMode::fatal) {
    bool const passes = facts.could_not_run || facts.on_exit == OnExit::propagate;
    if (facts.caused_by_engine_exit && passes) {
      return facts.engine.signal != 0 ? 128 + facts.engine.signal : facts.engine.code;
    }
    return kExitFatal;
  }
  if (facts.stopped_in_starting) {
    return kExitClean;
  }
  if (facts.died_with_work) {
    return kExitFatal;
  }
  return facts.engine_killed ? kExitKilled : kExitClean;
}

}  // namespace lastcall::lifecycle
