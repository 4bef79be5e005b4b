#include "shim/spawn.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/text.hpp"

namespace lastcall::shim {
namespace {

/// glibc uses these signals itself, ignores them in the children that it spawns, and hides them
/// from sigaddset(3). The child must get what it would get without the shim.
constexpr int kLibcSignals[] = {32, 33};

void add_libc_signal(sigset_t& set, int signal) {
  constexpr int kWordBits = 8 * sizeof(set.__val[0]);
  set.__val[(signal - 1) / kWordBits] |= 1UL << ((signal - 1) % kWordBits);
}

/// The attributes and file actions of posix_spawn, which are freed on every path.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(SpawnSettings const&) = delete;
  SpawnSettings& operator=(SpawnSettings const&) = delete;

  void apply(ChildPlan const& plan, Launch const& launch) {
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGCHLD);
    for (int const signal : kLibcSignals) {
      add_libc_signal(defaults, signal);
    }
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setsigmask(&attributes_, &launch.mask());
    int const group = plan.takes_terminal ? POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSID;
    posix_spawnattr_setflags(
        &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group));
    if (launch.directory() >= 0) {
      posix_spawn_file_actions_addfchdir_np(&actions_, launch.directory());
    }
    if (plan.takes_terminal && isatty(STDIN_FILENO) == 1) {
      posix_spawn_file_actions_addtcsetpgrp_np(&actions_, STDIN_FILENO);
    }
    if (plan.is_service) {
      posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
      posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    }
  }

  Spawned spawn(ChildPlan const& plan) {
    Spawned result;
    result.error = posix_spawnp(&result.pid, plan.program, &actions_, &attributes_, plan.argv,
                                plan.environment);
    return result;
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

int check_file(char const* path) {
  struct stat facts {};
  if (stat(path, &facts) != 0) {
    return errno;
  }
  if (S_ISDIR(facts.st_mode)) {
    return EISDIR;
  }
  return access(path, X_OK) == 0 ? 0 : errno;
}

constexpr std::string_view kSocketName = "LASTCALL_SOCKET=";

/// Variables that only the supervisor may know; its own list is in
/// supervisor/runtime/host/secret_environment.hpp.
constexpr std::array<std::string_view, 5> kSecrets{
    "LASTCALL_ETCD_PASSWORD=", "LASTCALL_NATS_PASSWORD=", "LASTCALL_LIFECYCLE_TOKEN=",
    "LASTCALL_INGRESS_TOKEN=", "LASTCALL_ADMISSION_TOKEN="};

bool is_secret(std::string_view variable) {
  for (std::string_view const name : kSecrets) {
    if (variable.starts_with(name)) {
      return true;
    }
  }
  return false;
}

}  // namespace

Spawned spawn(ChildPlan const& plan, Launch const& launch) {
  SpawnSettings settings;
  settings.apply(plan, launch);
  return settings.spawn(plan);
}

int check_program(char const* program) {
  if (*program == '\0') {
    return ENOENT;
  }
  if (std::strchr(program, '/') != nullptr) {
    return check_file(program);
  }
  char const* const path = getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  int verdict = ENOENT;
  for (bool more = true; more;) {
    std::size_t const colon = rest.find(':');
    more = colon != std::string_view::npos;
    TextOf<PATH_MAX> candidate;
    std::string_view const directory = rest.substr(0, colon);
    candidate << (directory.empty() ? "." : directory) << "/" << program
              << std::string_view("\0", 1);
    int const found = candidate.overflowed() ? ENAMETOOLONG : check_file(candidate.view().data());
    if (found == 0) {
      return 0;
    }
    if (found == EACCES || found == EISDIR) {
      verdict = EACCES;  // like execvp: goes on, but remembers that there was a file
    }
    rest.remove_prefix(more ? colon + 1 : 0);
  }
  return verdict;
}

char* const* engine_environment(char* const* environment, char const* socket) {
  static char assignment[kSocketName.size() + PATH_MAX];
  std::size_t count = 0;
  while (environment[count] != nullptr) {
    ++count;
  }
  auto** const result = static_cast<char**>(calloc(count + 2, sizeof(char*)));
  if (result == nullptr) {
    return environment;  // an engine without the SDK is better than no engine
  }
  char** next = result;
  if (socket != nullptr) {
    Text text(assignment, sizeof assignment - 1);
    text << kSocketName << socket;
    *next++ = assignment;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::string_view const variable = environment[i];
    bool const is_replaced = socket != nullptr && variable.starts_with(kSocketName);
    if (!is_replaced && !is_secret(variable)) {
      *next++ = environment[i];
    }
  }
  return result;
}

}  // namespace lastcall::shim
