// How often the kernel's OOM killer struck in the shim's own cgroup: only the shim can see that,
// the supervisor's container has another one.
//
// Rules: 1. the difference since watch() counts; 2. a cgroup that cannot be read is silence, not an
// error; 3. a kill of the whole cgroup takes the shim too: the supervisor reads the same file then,
// through a descriptor that the shim passed on.
// Source: cgroup-v2 `memory.events`, cgroup-v1 `memory.oom_control`.
#pragma once

#include <cstdint>

namespace lastcall::shim {

class OomCounter {
 public:
  /// Finds the counter and takes its present value as the beginning.
  void watch();
  /// The counter's file for the caller, which closes it; -1: there is none.
  int open_file();
  std::int64_t kills_since_watch() const;

 private:
  bool find();
  std::int64_t read() const;

  char path_[512] = {};
  std::int64_t before_ = 0;
};

}  // namespace lastcall::shim
