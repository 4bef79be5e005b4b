// When to try to connect: often while the supervisor may be restarting, then rarely.
//
// Rules:
//  1. Attempts are frequent for a second after a supervisor was there, and in the client's first.
//  2. A supervisor that never sent a welcome does not count as there, so rare attempts stay rare.
//  3. A supervisor may start later, or be restarting: its absence is a problem after five seconds.
//
// Thread rule: the thread that processes. Source: docs/ipc.md, 'Reconnecting'.
#pragma once

#include "sdk/cpp/connection.hpp"

namespace lastcall::sdk {

class ConnectAttempts {
 public:
  Clock::time_point next() const { return next_; }
  /// Whether a failure is worth a line in the log.
  bool is_problem(Clock::time_point now) const;
  void failed(Clock::time_point now);
  void succeeded(Clock::time_point now) { connected_at_ = now; }
  /// A connection has ended.
  void lost(Clock::time_point now, bool was_welcomed);

 private:
  Clock::time_point absent_since_{Clock::now()};
  Clock::time_point next_{};
  Clock::time_point connected_at_{};
};

}  // namespace lastcall::sdk
