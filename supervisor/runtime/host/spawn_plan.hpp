// How a command of ours is started: the leader of a group of its own, with default signal actions,
// an empty mask, /dev/null to read, one descriptor to write to, none of our secrets in its
// environment, and nothing else of ours.
//
// Thread rule: the loop's thread. Source: posix_spawn(3).
#pragma once

#include <string>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "supervisor/runtime/host/secret_environment.hpp"

namespace lastcall::runtime {

/// Attributes and file actions of posix_spawn, freed together.
class SpawnPlan {
 public:
  explicit SpawnPlan(int output) {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(SpawnPlan const&) = delete;
  SpawnPlan& operator=(SpawnPlan const&) = delete;

  /// 0, or the error number: also that of a failed exec.
  int spawn(std::vector<std::string> const& command, pid_t& pid) const {
    std::vector<char*> arguments;
    for (std::string const& word : command) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    std::vector<char*> const environment = environment_for_others();
    return posix_spawnp(&pid, arguments.front(), &actions_, &attributes_, arguments.data(),
                        environment.data());
  }

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
};

}  // namespace lastcall::runtime
