// Ends the engine when its shim was killed in run mode, because no other process would.
//
// Without its shim an engine would go on with no process to stop it, and keep its GPU and its port.
// In a pod the container ends with its PID 1; on a host only the supervisor can do it.
//
// Invariants:
//  1. Only a child of the shim that reported it is ever signalled, and what descends from it or is
//     in its session; each is held (HeldProcess), so that a number that is used again is not hit.
//  2. TERM and CONT to the main process, KILL to everything kGrace later or when it has ended.
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
  static constexpr lifecycle::Duration kPatience{1'000};  // from KILL until it must be gone

  OrphanedEngine(boost::asio::io_context& io, Log& log);
  ~OrphanedEngine();

  /// The shim with this pid reports that its engine runs. Pids of another PID namespace, where the
  /// engine is not a child of the shim, are not watched.
  void watch(pid_t shim, pid_t engine);
  /// The engine was reaped, or another shim holds it.
  void forget();
  /// The shim is gone, so nothing of the engine may stay.
  void end();
  /// The same without a pidfd of the shim: an engine with another parent has lost its shim.
  void end_if_adopted();
  /// Whether nothing is left to end, or the rest cannot be killed.
  bool is_settled() const { return !is_ending_; }

 private:
  struct Timer;

  void collect();
  bool main_has_ended() const;
  void tick();

  Log& log_;
  std::unique_ptr<Timer> timer_;
  pid_t shim_ = 0;
  HeldProcess main_;
  std::map<pid_t, HeldProcess> tree_;
  bool is_ending_ = false;
  bool kills_ = false;
  lifecycle::Instant limit_;
};

}  // namespace lastcall::runtime
