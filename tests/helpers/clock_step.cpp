// A library for LD_PRELOAD: the wall clock is STEP_SECONDS ahead (negative: behind) as soon as the
// file STEP_WHEN exists, as after a correction by NTP or by hand. STEP_CLOCK=monotonic steps that
// clock instead, which no host does: with it a test shows that it would see a wrong clock.
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

bool is_stepped(clockid_t clock) {
  char const* const chosen = getenv("STEP_CLOCK");
  bool const monotonic = chosen != nullptr && strcmp(chosen, "monotonic") == 0;
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return !monotonic;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
      return monotonic;
    default:
      return false;
  }
}

time_t step(clockid_t clock) {
  char const* const file = getenv("STEP_WHEN");
  char const* const seconds = getenv("STEP_SECONDS");
  bool const now = file != nullptr && seconds != nullptr && is_stepped(clock);
  return now && access(file, F_OK) == 0 ? atol(seconds) : 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  int const result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (result == 0) {
    now->tv_sec += step(clock);
  }
  return result;
}

__attribute__((visibility("default"))) int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  *now = {.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
  return 0;
}

__attribute__((visibility("default"))) time_t time(time_t* result) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) {
    *result = now.tv_sec;
  }
  return now.tv_sec;
}

}  // extern "C"
