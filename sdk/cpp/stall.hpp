// Reports that a callback does not return: while it runs, nothing reaches the supervisor.
//
// Rules:
//  1. Other threads check that when they have something to send, so no thread has to watch.
//  2. Each round of the processing thread is reported once at most, and never by that thread.
//  3. A check costs one load unless a round is under way.
//
// Thread rule: begin_round() and end_round() on the thread that processes, check() on any, without
// the session's mutex. Source: Client, 'Thread rule'.
#pragma once

#include <atomic>

#include <pthread.h>

#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/problem_log.hpp"

namespace lastcall::sdk {

class Stall {
 public:
  explicit Stall(ProblemLog const& log) : log_(log) {}

  void begin_round(Clock::time_point now);
  void end_round() { since_ = 0; }
  void check() {
    if (since_.load(std::memory_order_relaxed) != 0) {
      report();
    }
  }

 private:
  void report();

  ProblemLog const& log_;
  std::atomic<Clock::rep> since_{};  // 0: the processing thread waits, or was reported
  std::atomic<pthread_t> busy_{};
};

}  // namespace lastcall::sdk
