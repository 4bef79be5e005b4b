// The shim: one loop that turns signals, reaped children, lines and time into events, looks each up
// in the state table, and acts on it.
//
// Invariants:
//  1. Only the results of reaping show that a process ended, never a SIGCHLD: these coalesce.
//  2. Nothing blocks: not the supervisor, not a full log, not a process that cannot be killed.
//  3. Once a stop has a deadline D, the process exits by D (plus a moment for KILLed children).
//  4. At rest the loop sleeps without a timeout, except while it looks for a lost supervisor, or
//     checks every 5 s whether its own supervisor still answers.
//
// Thread rule: there is one thread. Source: specification, 'Shim'; wait(2), signalfd(2).
#pragma once

#include <optional>

#include "shim/parts.hpp"

namespace lastcall::shim {

class Shim {
 public:
  Shim(Options const& options, Launch& launch, int signals, char* const* environment);

  /// Returns the exit code.
  int run();

 private:
  std::optional<int> begin();
  void wait();
  void take_signals();

  Parts parts_;
  int signals_;
  bool link_is_readable_ = false;
};

}  // namespace lastcall::shim
