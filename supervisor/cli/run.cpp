#include "supervisor/cli/run.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ostream>
#include <system_error>

#include <unistd.h>

#include "base/error_text.hpp"
#include "config/presets.hpp"
#include "config/text.hpp"
#include "probes/listener/listening_socket.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/problems.hpp"
#include "supervisor/cli/run_sockets.hpp"

namespace lastcall::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kExitNoShim = 1;

/// Looks at LASTCALL_SHIM, next to this program, in the build tree, and in PATH.
std::optional<fs::path> find_shim(fs::path const& own_path,
                                  config::Environment const& environment) {
  if (auto const named = environment("LASTCALL_SHIM")) {
    return *named;
  }
  fs::path const here = own_path.parent_path();
  for (fs::path const& candidate : {here / "lastcall-shim", here / "../shim/lastcall-shim",
                                    here / "../../shim/lastcall-shim"}) {
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate.lexically_normal();
    }
  }
  return config::find_command("lastcall-shim", environment);
}

/// A name that means the same file to `serve`: /dev/stdin and /dev/fd/N name a descriptor of this
/// process, and `serve` has others. Other links stay, since a reload follows where they lead then.
fs::path path_for_others(fs::path const& path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  fs::path step = fs::absolute(path);
  for (int link = 0; link < kMostLinks && !error; ++link) {
    fs::path const parent = fs::canonical(step.parent_path(), error);
    if (!error && parent.filename() == "fd" && parent.string().starts_with("/proc/")) {
      fs::path const file = fs::canonical(path, error);
      return error ? fs::absolute(path) : file;
    }
    if (!error) {
      step = parent / fs::read_symlink(step, error);
    }
  }
  return fs::absolute(path);
}

class Arguments {
 public:
  void add(std::string word) { words_.push_back(std::move(word)); }
  void add(char const* option, std::string value) {
    add(option);
    add(std::move(value));
  }
  /// Adds an argument for `lastcall serve`.
  void serve(std::string word) { add("--serve-arg", std::move(word)); }
  void serve(char const* option, std::string value) {
    serve(option);
    serve(std::move(value));
  }
  /// The arguments for execv(3); valid until the next add.
  std::vector<char*> pointers() {
    std::vector<char*> pointers;
    for (std::string& word : words_) {
      pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    return pointers;
  }

 private:
  std::vector<std::string> words_;
};

void add_serve(Arguments& arguments, RunCommand const& command, config::Loaded const& loaded,
               RunSockets const& sockets) {
  arguments.add("--serve", command.launch.path);
  arguments.serve("serve");
  arguments.serve("--parent", std::to_string(::getpid()));  // also the shim's: we become it
  if (!loaded.source.empty()) {
    arguments.serve("--config", path_for_others(loaded.source).string());
  }
  for (std::string const& override : command.load.overrides) {
    arguments.serve("--set", override);
  }
  if (sockets.private_directory.empty()) {
    arguments.serve("--shim-socket", sockets.engine);
  } else {
    arguments.serve("--set", "ipc.socket=" + sockets.engine);
    arguments.serve("--set", "ipc.admin_socket=" + sockets.admin);
    arguments.serve("--private-directory", sockets.private_directory);
  }
}

Arguments shim_arguments(RunCommand const& command, config::Loaded const& loaded,
                         RunSockets const& sockets, std::vector<std::string> const& engine) {
  config::Config const& config = loaded.config;
  Arguments arguments;
  arguments.add("lastcall-shim");
  if (!sockets.private_directory.empty()) {
    arguments.add("--private-directory", sockets.private_directory);
  }
  arguments.add("--socket", sockets.engine);
  arguments.add("--on-exit",
                config.engine.on_exit == config::OnExit::propagate ? "propagate" : "fatal");
  arguments.add("--stop-signals", "TERM,INT,QUIT");
  arguments.add("--grace", std::to_string(config.shutdown.budgets.grace_period.count()) + "ms");
  arguments.add("--rest-grace",
                std::to_string(config::resolve_engine(config).rest_grace.count()) + "ms");
  if (!command.launch.held_signals.empty()) {
    arguments.add("--held-signals", command.launch.held_signals);
  }
  if (!command.supervisor_timeout.empty()) {
    arguments.add("--supervisor-timeout", command.supervisor_timeout);
  }
  if (command.tty) {
    arguments.add("--tty");
  }
  if (command.required) {
    arguments.add("--required");
  }
  add_serve(arguments, command, loaded, sockets);
  arguments.add("--");
  for (std::string const& word : engine) {
    arguments.add(word);
  }
  return arguments;
}

std::string force_hint(config::SecondSignal second_signal) {
  switch (second_signal) {
    case config::SecondSignal::ignore:
      return "with --set shutdown.second_signal=force a second one ends it at once";
    case config::SecondSignal::force:
      return "a second one ends it at once";
  }
  return {};
}

void greet(config::Config const& config, RunSockets const& sockets, bool command_has_terminal,
           std::ostream& err) {
  if (!sockets.private_directory.empty()) {
    err << "lastcall run: admin socket " << sockets.admin
        << " (for status, drain and the others: --admin-socket)\n";
  }
  if (::isatty(STDIN_FILENO) != 0 && command_has_terminal) {
    err << "lastcall run: the command has the terminal and receives Ctrl-C; `kill " << ::getpid()
        << "` stops gracefully, within " << config::to_text(config.shutdown.budgets.grace_period)
        << '\n';
  } else if (::isatty(STDIN_FILENO) != 0) {
    err << "lastcall run: Ctrl-C stops gracefully, within "
        << config::to_text(config.shutdown.budgets.grace_period) << "; "
        << force_hint(config.shutdown.second_signal) << '\n';
  }
  err.flush();
}

/// The grace period to assume in a container if none is configured. PID 1 outside Kubernetes has
/// the default of its runtime: 10 s with Docker and Podman, 30 s with ECS. A configured grace
/// period is used as it is.
std::optional<int> assumed_grace_seconds(config::Loaded const& loaded,
                                         config::Environment const& environment) {
  if (::getpid() != 1 || loaded.grace.value || loaded.grace_period_is_given) {
    return std::nullopt;
  }
  bool const on_ecs = environment("ECS_CONTAINER_METADATA_URI_V4").has_value() ||
                      environment("ECS_CONTAINER_METADATA_URI").has_value();
  return on_ecs ? 30 : 10;
}

/// Sets the variable for the shim and for `serve`, which read it as if a user had set it.
void assume_grace(config::Loaded& loaded, int seconds, std::ostream& err) {
  std::string const text = std::to_string(seconds);
  ::setenv("LASTCALL_POD_GRACE_SECONDS", text.c_str(), 1);
  config::Duration& grace = loaded.config.shutdown.budgets.grace_period;
  grace = std::min(grace, config::Duration(std::chrono::seconds(seconds - 2)));
  err << "lastcall run: assuming that this container is killed " << text
      << " s after its stop signal, as is usual outside of Kubernetes, so a stop takes up to "
      << config::to_text(grace)
      << "; if it has longer, set LASTCALL_POD_GRACE_SECONDS (docker run --stop-timeout 62 -e "
         "LASTCALL_POD_GRACE_SECONDS=62)\n";
}

/// Tries the port that `serve` will need; empty if it is free. If `serve` failed later, the engine
/// would run without supervision, and the reason would be less clear than it is now.
std::string probe_listener(config::Probes const& probes) {
  return probes::open_listening_socket(probes.listen.host, probes.listen.port).error;
}

}  // namespace

int run_run(RunCommand const& command, config::Environment const& environment, std::ostream& err) {
  if (!command.stray.empty()) {
    err << "lastcall run: expected `--` before the command: lastcall run [OPTIONS] -- CMD\n";
    return kExitUsage;
  }
  config::LoadOptions load = command.load;
  load.is_read_again = true;
  config::Loaded loaded;
  // `serve` reads the same configuration.
  if (!load_or_complain(load, environment, loaded, err, Warnings::left_to_the_log)) {
    return kExitUsage;
  }
  std::vector<std::string> const& engine =
      command.command.empty() ? loaded.config.engine.command : command.command;
  if (engine.empty()) {
    err << "lastcall run: no command: expected `lastcall run -- CMD`, or engine.command\n";
    return kExitUsage;
  }
  std::optional<fs::path> const shim = find_shim(command.launch.path, environment);
  if (!shim) {
    err << "lastcall run: cannot find lastcall-shim: expected it beside " << command.launch.path
        << ", in PATH, or named by LASTCALL_SHIM\n";
    return kExitNoShim;
  }
  RunSockets const sockets = choose_sockets(loaded.config.ipc, environment);
  if (!sockets.problem.empty()) {
    err << "lastcall run: " << sockets.problem << '\n';
    return kExitNoShim;
  }
  if (std::string const problem = probe_listener(loaded.config.probes); !problem.empty()) {
    discard(sockets);
    err << "lastcall run: " << problem << '\n';
    return kExitNoShim;
  }
  if (auto const seconds = assumed_grace_seconds(loaded, environment)) {
    assume_grace(loaded, *seconds, err);
  }
  greet(loaded.config, sockets, command.tty, err);
  Arguments arguments = shim_arguments(command, loaded, sockets, engine);
  ::execv(shim->c_str(), arguments.pointers().data());
  int const error = errno;
  discard(sockets);
  err << "lastcall run: cannot run " << shim->string() << ": " << error_text(error) << '\n';
  return kExitNoShim;
}

}  // namespace lastcall::cli
