// CLOCK_MONOTONIC as one number of nanoseconds, and how it crosses a pipe: eight bytes, host order.
// Both ends run on one machine, whose processes share that clock.
#pragma once

#include <cstdint>

#include <time.h>
#include <unistd.h>

namespace lastcall::bench {

inline std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline bool report_instant(int fd, std::int64_t at) {
  return write(fd, &at, sizeof at) == sizeof at;
}

/// False at the end of the pipe.
inline bool read_instant(int fd, std::int64_t& at) {
  return read(fd, &at, sizeof at) == sizeof at;
}

}  // namespace lastcall::bench
