// The ways to find out that the engine is dead, besides the program's own report: exceptions that
// were not caught, and children that have died.
//
// Rules:
//  1. Each of them becomes the one fatal report.
//  2. Once the supervisor cleans up, ends are intended and not reported.
//  3. After stop(), the end of a child or of the process counts as the end of a program that is
//     done.
//
// Thread rule: any thread, stop() without a lock, because it waits for the thread that watches
// children. Source: docs/ipc.md, 'fatal'.
#pragma once

#include <memory>
#include <string>

#include "ipc/to_supervisor.hpp"
#include "sdk/cpp/child_watch.hpp"
#include "sdk/cpp/fatal_report.hpp"
#include "sdk/cpp/instance_phase.hpp"
#include "sdk/cpp/session_lock.hpp"

namespace lastcall::sdk {

class Failures {
 public:
  Failures(SessionLock& lock, InstancePhase& phase, FatalReport& fatal)
      : lock_(lock), phase_(phase), fatal_(fatal) {}
  ~Failures();
  Failures(Failures const&) = delete;
  Failures& operator=(Failures const&) = delete;

  /// From now on, exceptions that are not caught are reported at that path.
  void watch_uncaught(std::string path, ipc::Hello hello);
  /// Throws std::invalid_argument if no child can have this number.
  void watch_child(int pid, std::string name, bool any_end);
  bool forget_child(int pid);
  /// The exception that is being handled has left a function of that name.
  void exception_left(std::string const& name);
  void stop();

 private:
  void failed(std::string reason, std::string detail);

  SessionLock& lock_;
  InstancePhase& phase_;
  FatalReport& fatal_;
  std::shared_ptr<ChildWatch> children_;
  bool is_stopped_{};
};

}  // namespace lastcall::sdk
