#include "router/command.hpp"

#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "base/descriptor_limit.hpp"
#include "base/failed_writes.hpp"
#include "router/options.hpp"
#include "router/router.hpp"
#include "router/settings.hpp"
#include "telemetry/log.hpp"

namespace lastcall::router {
namespace {

constexpr int kUsage = 2;

std::string name_of(LoadedSettings const& loaded) {
  return loaded.source.empty() ? "the defaults" : loaded.source;
}

/// Returns false if the program must exit with kUsage.
bool load_or_complain(config::LoadOptions const& options, LoadedSettings& loaded,
                      std::ostream& err) {
  loaded = load_settings(options, config::process_environment());
  for (config::Problem const& problem : loaded.errors) {
    err << config::to_text(problem) << '\n';
  }
  if (!loaded.errors.empty()) {
    err << name_of(loaded) << ": " << loaded.errors.size()
        << (loaded.errors.size() == 1 ? " error" : " errors");
    if (loaded.source.empty()) {
      err << "; there is no file (--config, $" << kConfigVariable << ", " << kDefaultPath << ')';
    }
    err << '\n';
  }
  return loaded.errors.empty();
}

int serve(Settings const& settings, config::LoadOptions const& options) {
  raise_descriptor_limit();
  let_failed_writes_be_errors();
  telemetry::Log log(settings.log.level, settings.log.format, STDERR_FILENO);
  if (std::size_t const most = most_connections(settings.limits, descriptor_limit());
      most < settings.limits.max_connections) {
    log.warning("the limit of open files is too low for limits.max_connections",
                {{"wanted", settings.limits.max_connections}, {"connections", most}});
  }
  Router router(settings, options, log);
  if (std::string const problem = router.start(); !problem.empty()) {
    log.critical("the router cannot serve", {{"detail", problem}});
    return 1;
  }
  router.run();
  return 0;
}

}  // namespace

int run_command(int argc, char const* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app(
      "The router in front of many workers. It sends each request to one of them, or to another "
      "one if that fails, and most streams continue on another worker when theirs fails.",
      "lastcall-router");
  app.set_version_flag("--version", std::string("lastcall-router ") + LASTCALL_VERSION);
  app.require_subcommand(0, 1);
  config::LoadOptions load;
  load.default_path = kDefaultPath;
  auto const add_config = [&load](CLI::App& to) {
    to.add_option_function<std::string>(
          "-c,--config", [&load](std::string const& path) { load.path = path; },
          std::string("Configuration file; else $") + kConfigVariable + ", else " + kDefaultPath)
        ->type_name("FILE");
    to.add_option("--set", load.overrides, "Override one key; may be repeated")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add_config(app);
  CLI::App* const check =
      app.add_subcommand("check", "Check the configuration and print every problem");
  add_config(*check);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    int const code = app.exit(error, out, err);
    return code == 0 ? 0 : kUsage;
  }
  load.is_read_again = !check->parsed();
  LoadedSettings loaded;
  if (!load_or_complain(load, loaded, err)) {
    return kUsage;
  }
  if (check->parsed()) {
    out << name_of(loaded) << ": ok\n";
    return 0;
  }
  return serve(loaded.settings, load);
}

}  // namespace lastcall::router
