#include "supervisor/cli/serve.hpp"

#include <ostream>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "supervisor/cli/app.hpp"
#include "supervisor/cli/problems.hpp"
#include "supervisor/runtime/serve.hpp"

namespace lastcall::cli {

namespace {

/// `auto` shows the page if a user called `run` on a host; in a pod anybody can reach the port.
bool shows_status(ServeCommand const& command, config::Loaded const& loaded) {
  switch (loaded.config.probes.status_page) {
    case config::StatusPage::automatic:
      return command.parent != 0 && !loaded.grace.value;
    case config::StatusPage::always:
      return true;
    case config::StatusPage::never:
      return false;
  }
  return false;
}

/// Makes this process end with the shim, because nothing else notices that a shim was killed before
/// it has connected. True if the shim is still there.
bool ends_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return ::getppid() == parent;
}

}  // namespace

int run_serve(ServeCommand const& command, config::Environment const& environment,
              std::ostream& err) {
  if (command.parent != 0 && !ends_with(command.parent)) {
    err << "lastcall serve: the shim that started it is gone\n";
    return kExitUnexpected;
  }
  config::LoadOptions load = command.load;
  load.is_read_again = true;
  config::Loaded loaded;
  if (!load_or_complain(load, environment, loaded, err, Warnings::left_to_the_log)) {
    return kExitUsage;
  }
  if (!command.shim_socket.empty()) {
    // The file may have been edited since the shim started, which keeps its socket to its end. A
    // reload compares with this value, and reports the key.
    loaded.config.ipc.socket = command.shim_socket;
  }
  if (!loaded.source.empty()) {
    // If the file vanishes later, that is an error and does not mean the defaults.
    load.path = loaded.source;
  }
  runtime::ServeOptions options{.grace = loaded.grace,
                                .load = load,
                                .config_path = loaded.source,
                                .warnings = {},
                                .private_directory = command.private_directory,
                                .shows_status = shows_status(command, loaded)};
  for (config::Problem const& warning : loaded.warnings) {
    if (!command.private_directory.empty() && warning.key == "ipc.admin_socket") {
      continue;  // `run` puts both sockets into it on purpose: there is only one container
    }
    options.warnings.push_back(config::to_text(warning));
  }
  int const code = runtime::serve(loaded.config, options);
  err.flush();
  ::_exit(code);
}

}  // namespace lastcall::cli
