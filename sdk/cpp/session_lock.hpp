// The mutex of a session, and the rules that hold wherever it is taken.
//
// Rules:
//  1. No callback runs, and no context is raised, while the mutex is held: what is to be called is
//     left in a Later and called afterwards.
//  2. In a forked child, every call detects that it is in a child before it takes the mutex, which
//     may be held by a thread that does not exist there.
//
// Thread rule: any thread. Source: fork(2), stall.hpp.
#pragma once

#include <cstdint>
#include <mutex>

#include "sdk/cpp/fork_watch.hpp"
#include "sdk/cpp/later.hpp"
#include "sdk/cpp/problem_log.hpp"
#include "sdk/cpp/stall.hpp"

namespace lastcall::sdk {

class SessionLock {
 public:
  explicit SessionLock(ProblemLog const& log) : stall_(log) {}

  /// Whether this process is a forked child of the process that made the session.
  bool is_detached() const { return generation_ != fork_generation(); }

  /// Calls `act` under the mutex, and afterwards makes the calls that it has left to be made. It
  /// does nothing in a forked child.
  template <typename Act>
  void locked(Act act) {
    if (is_detached()) {
      return;
    }
    Later later;
    {
      std::lock_guard const lock(mutex_);
      act(later);
    }
    for (auto const& each : later) {
      each();
    }
    stall_.check();
  }

  /// Takes the mutex alone, for code that leaves nothing to be called and knows that it is not in a
  /// forked child.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }

  Stall& stall() { return stall_; }

 private:
  std::uint64_t const generation_{fork_generation()};
  std::mutex mutex_;
  Stall stall_;
};

}  // namespace lastcall::sdk
