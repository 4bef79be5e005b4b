// bench_parent: starts a command many times, or signals one many times, and prints each time taken
// in nanoseconds, one a line.
//
//   spawn COUNT CMD...     from before the spawn to after the wait, COUNT times
//   signals COUNT CMD...   from before kill(USR1) to the instant that bench_child, somewhere below
//                          CMD, reports; COUNT times, with a pause in between so that all sleep
//
// One command after the other, one thread. All of it stays on one core: what is measured is the way
// through the programs, not the distance between two cores.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instant.hpp"

namespace lastcall::bench {
namespace {

constexpr int kWarmUp = 20;
constexpr unsigned kPauseMicroseconds = 300;

/// The programs that are started inherit this.
bool stay_on_this_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

/// Standard output goes to `output`, if there is one.
pid_t start(char** command, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  }
  pid_t pid = 0;
  int const error = posix_spawnp(&pid, command[0], &actions, nullptr, command, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : 0;
}

bool ended_well(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void print(std::vector<std::int64_t> const& times) {
  for (std::int64_t const time : times) {
    std::printf("%lld\n", static_cast<long long>(time));
  }
}

int spawn(int count, char** command) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < count; ++i) {
    std::int64_t const before = now_ns();
    pid_t const pid = start(command, -1);
    if (pid == 0 || !ended_well(pid)) {
      return 1;
    }
    times.push_back(now_ns() - before);
  }
  print(times);
  return 0;
}

int signals(int count, char** command) {
  int channel[2];
  if (pipe2(channel, O_CLOEXEC) != 0) {
    return 1;
  }
  pid_t const pid = start(command, channel[1]);
  close(channel[1]);
  std::int64_t seen = 0;
  if (pid == 0 || !read_instant(channel[0], seen)) {
    return 1;
  }
  std::vector<std::int64_t> times;
  for (int i = 0; i < kWarmUp + count; ++i) {
    usleep(kPauseMicroseconds);
    std::int64_t const before = now_ns();
    kill(pid, SIGUSR1);
    if (!read_instant(channel[0], seen)) {
      return 1;
    }
    if (i >= kWarmUp) {
      times.push_back(seen - before);
    }
  }
  print(times);
  kill(pid, SIGTERM);
  return ended_well(pid) ? 0 : 1;
}

}  // namespace
}  // namespace lastcall::bench

int main(int argc, char** argv) {
  std::string_view const task = argc > 3 ? argv[1] : "";
  if (!lastcall::bench::stay_on_this_core()) {
    std::perror("bench_parent: cannot stay on one core");
    return 1;
  }
  if (task == "spawn") {
    return lastcall::bench::spawn(std::atoi(argv[2]), argv + 3);
  }
  if (task == "signals") {
    return lastcall::bench::signals(std::atoi(argv[2]), argv + 3);
  }
  std::fprintf(stderr, "usage: bench_parent spawn|signals COUNT CMD...\n");
  return 2;
}
