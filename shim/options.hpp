// The command line and the environment of the shim.
//
// Rules: 1. a bad option is one line that states what is wrong and what was expected, exit 2; 2.
// the first argument that is not an option begins the command, with or without `--`; 3. everything
// here points into argv or into static storage and lives as long as the process.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/instant.hpp"
#include "shim/exit_code.hpp"
#include "shim/signal_policy.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

inline constexpr std::size_t kMaxServeArguments = 64;

struct Options {
  enum class Task : unsigned char { run, help, version, install, prestop };

  Task task = Task::run;
  char const* socket = nullptr;  // absolute; null: plain init
  char const* install_dir = nullptr;
  std::string_view prestop;  // "engine" or "supervisor": the container of the hook
  char const* serve = nullptr;
  char* serve_argv[kMaxServeArguments + 2] = {};  // as execve wants it
  char** command = nullptr;                       // as execve wants it
  Duration supervisor_timeout{10'000};
  Duration grace{60'000};
  Duration rest_grace{10'000};
  std::optional<Duration> pod_grace;       // LASTCALL_POD_GRACE_SECONDS, or 30 s inside a pod
  std::optional<Duration> declared_grace;  // LASTCALL_POD_GRACE_SECONDS, whole
  char const* termination_log = "/dev/termination-log";
  OnExit on_exit = OnExit::fatal;
  SignalPolicy signals;
  // Options that `lastcall run` sets; they are not for users:
  SignalBits held = 0;                      // stop signals that `run` blocked
  char const* private_directory = nullptr;  // `run` made it, and the shim removes it
  bool tty = false;
  bool required = false;
  bool restarts = false;  // whether `--restart` was given and the command is lastcall's own `serve`

  bool supervised() const { return socket != nullptr; }
};

/// Returns false with the reason, one line, in `error`.
bool parse_options(int argc, char** argv, Options& options, Text& error);

/// Reads LASTCALL_POD_GRACE_SECONDS, KUBERNETES_SERVICE_HOST, LASTCALL_TERMINATION_LOG.
bool read_environment(Options& options, Text& error);

extern char const kUsage[];

}  // namespace lastcall::shim
