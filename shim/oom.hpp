// How often the kernel's OOM killer struck in the shim's own cgroup: only the shim can see that,
// the supervisor's container has another one.
//
// Rule: the difference since watch() counts; a cgroup that cannot be read is silence, not an error.
// Source: cgroup-v2 `memory.events`, cgroup-v1 `memory.oom_control`.
#pragma once

#include <cstdint>

namespace lastcall::shim {

class OomCounter {
 public:
  /// Finds the counter and takes its present value as the beginning.
  void watch();
  std::int64_t kills_since_watch() const;

 private:
  std::int64_t read() const;

  char path_[512] = {};
  std::int64_t before_ = 0;
};

}  // namespace lastcall::shim
