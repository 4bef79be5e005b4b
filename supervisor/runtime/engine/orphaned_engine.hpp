// Ends the engine when its shim was killed in run mode, because no other process would do it.
//
// Without its shim, an engine would keep running with no process to stop it, and would keep its GPU
// and its port. In a pod the container ends with its PID 1; on a host, only the supervisor can end
// the engine.
//
// Invariants:
//  1. The only processes ever signalled are the engine's main process (which must be a child of the
//     shim that reported it), its descendants, and the processes in its session. Each is held
//     (HeldProcess), so that a process that reuses a number is not signalled.
//  2. The main process gets TERM and CONT. Everything gets KILL kGrace later, or when the main
//     process has ended.
//
// Thread rule: the loop's thread. Source: pidfd_open(2), proc(5).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <sys/types.h>

#include "core/instant.hpp"
#include "supervisor/runtime/host/process_table.hpp"
#include "telemetry/log.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class OrphanedEngine {
 public:
  static constexpr lifecycle::Duration kGrace{1'000};
  static constexpr lifecycle::Duration kPatience{1'000};  // after KILL, until they must be gone

  OrphanedEngine(boost::asio::io_context& io, telemetry::Log& log);
  ~OrphanedEngine();

  /// The shim with this pid reports that its engine runs. Pids of another PID namespace, where the
  /// engine is not a child of the shim, are not watched.
  void watch(pid_t shim, pid_t engine);
  /// Called when the engine was reaped, or when another shim holds it.
  void forget();
  /// Called when the shim is gone, so no process of the engine may remain.
  void end();
  /// Does the same without a pidfd of the shim, if the engine has another parent: then it has lost
  /// its shim.
  void end_if_adopted();
  /// Whether no process is left to end, or those that are left cannot be killed.
  bool is_settled() const { return !is_ending_; }

 private:
  struct Timer;

  void collect();
  bool main_has_ended() const;
  void tick();

  telemetry::Log& log_;
  std::unique_ptr<Timer> timer_;
  pid_t shim_ = 0;
  HeldProcess main_;
  std::map<pid_t, HeldProcess> tree_;
  bool is_ending_ = false;
  bool kills_ = false;
  lifecycle::Instant limit_;
};

}  // namespace lastcall::runtime
