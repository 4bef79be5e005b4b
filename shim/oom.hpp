// Counts the kernel's OOM kills in the shim's own cgroup. Only the shim can read that count,
// because the supervisor's container has another cgroup.
//
// Rules: 1. only kills since watch() count; 2. an unreadable cgroup counts as no kills, not as an
// error; 3. a kill of the whole cgroup kills the shim, too; the supervisor then reads the same
// file, through a descriptor that the shim has passed on. Source: cgroup-v2 `memory.events`,
// cgroup-v1 `memory.oom_control`.
#pragma once

#include <cstdint>

namespace lastcall::shim {

class OomCounter {
 public:
  /// Finds the counter and starts from its present value.
  void watch();
  /// Returns a descriptor of the counter's file, which the caller closes; -1 if there is none.
  int open_file();
  std::int64_t kills_since_watch() const;

 private:
  bool find();
  std::int64_t read() const;

  char path_[512] = {};
  std::int64_t before_ = 0;
};

}  // namespace lastcall::shim
