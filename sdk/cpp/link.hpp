// The life of the connection: it is made, greeted, lost, made again, and closed for good.
//
// Rules:
//  1. It works in rounds: wait for the connection's descriptor, connect if that is due, handle what
//     was received, do what is due, write what is queued, set the timer.
//  2. The number of reads in a round is limited, so that others get their turn.
//  3. After close_by() it ends when everything is written or the time has come; then nothing is
//     left to do.
//  4. In a forked child no round is made.
//
// Thread rule: close_by() from any thread; the rest on one thread at a time. Without a thread of
// the client's own, process() and finish() exclude each other. Source: docs/ipc.md, 'Reconnecting'.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "ipc/line_buffer.hpp"
#include "sdk/cpp/connect_attempts.hpp"
#include "sdk/cpp/connection.hpp"
#include "sdk/cpp/problem_log.hpp"
#include "sdk/cpp/protocol.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

class Link {
 public:
  Link(SessionLock& lock, ProblemLog& log, Connection& connection, Protocol& protocol)
      : lock_(lock), log_(log), connection_(connection), protocol_(protocol) {}

  /// The first round is due at once.
  void begin();
  /// One round that does not wait; nothing if another thread is in finish().
  void process();
  /// All rounds, until it is closed.
  void run_until_closed();
  void close_by(Clock::time_point instant);
  /// Does the same as run_until_closed(), in place of the thread that calls process().
  void finish();

 private:
  void run_once(int at_most_ms);
  bool take_input();
  /// Returns the problem to log about the attempt; empty if there is none.
  std::string connect(Clock::time_point now);
  void disconnect(Later& later);
  void finish_round(Clock::time_point now, Later& later);

  SessionLock& lock_;
  ProblemLog& log_;
  Connection& connection_;
  Protocol& protocol_;
  std::optional<Clock::time_point> close_by_;  // under the mutex
  std::atomic<bool> is_closed_{};
  /// Held by the caller of process() or finish(); it is recursive because a callback may call
  /// close().
  std::recursive_mutex turn_;
  ipc::LineBuffer input_;
  ConnectAttempts attempts_;
};

}  // namespace lastcall::sdk
