// Watches child processes without which the engine cannot work: their end is reported as fatal.
//
// Rules:
//  1. An end is reported, with three exceptions: exit code 0, TERM (which is how a child is stopped
//     on purpose), and an end whose status cannot be read because the child was reaped already.
//     With `any_end` every end is reported.
//  2. The status is read without reaping, so the code that started the child still gets it.
//  3. A forked copy of the object does nothing, because the children are its parent's.
//
// Thread rule: methods from any thread, the destructor once. One thread of its own waits for all
// children. `report` runs there, or in add() if the child is gone already. Source: pidfd_open(2).
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <pthread.h>
#include <sys/types.h>

#include "ipc/unix_socket.hpp"

namespace lastcall::sdk {

class ChildWatch {
 public:
  using Report = std::function<void(std::string reason, std::string detail)>;

  /// Throws std::system_error if there is no descriptor or thread.
  explicit ChildWatch(Report report);
  ~ChildWatch();
  ChildWatch(ChildWatch const&) = delete;
  ChildWatch& operator=(ChildWatch const&) = delete;

  /// Throws std::system_error if the system cannot watch processes.
  void add(pid_t pid, std::string name, bool any_end);
  /// Returns false if the process is not watched (any more).
  bool forget(pid_t pid);

 private:
  struct Child {
    Descriptor process;
    pid_t pid{};
    std::string name;
    bool any_end{};
  };

  static void* run(void* watch);
  void loop();
  std::vector<Child> take_ended();
  void ended(Child const& child) const;
  void wake() const;

  Report const report_;
  std::uint64_t const generation_;
  Descriptor const bell_;
  pthread_t thread_{};
  std::mutex mutex_;
  std::vector<Child> children_;
  bool is_closed_{};
};

}  // namespace lastcall::sdk
