// Child processes without which the engine is a shell: their end is reported as fatal.
//
// Rules:
//  1. An end is reported unless it was with 0 or by TERM, which is how one is stopped on purpose,
//     or how it ended cannot be known (it has been reaped already). With `any_end` every end is.
//  2. The status is read without reaping: the code that started the child still gets it.
//  3. A forked copy does nothing: the children are its parent's.
//
// Thread rule: methods from any thread, the destructor once; one thread of its own waits for all
// children. `report` runs there, and in add() for a child that is gone. Source: pidfd_open(2).
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

  /// std::system_error: no descriptor or thread.
  explicit ChildWatch(Report report);
  ~ChildWatch();
  ChildWatch(ChildWatch const&) = delete;
  ChildWatch& operator=(ChildWatch const&) = delete;

  /// std::system_error: the system cannot watch processes.
  void add(pid_t pid, std::string name, bool any_end);
  /// False: it is not watched (any more).
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
