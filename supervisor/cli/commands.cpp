// The definitions of the subcommands for CLI11: names, options and the functions that run.
#include "supervisor/cli/commands.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "config/environment.hpp"
#include "supervisor/cli/completion.hpp"
#include "supervisor/cli/run.hpp"
#include "supervisor/cli/serve.hpp"
#include "supervisor/cli/status.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

void add_output(CLI::App& app, Output& output) {
  static std::map<std::string, Output> const kNames{{"text", Output::text}, {"json", Output::json}};
  app.add_option_function<std::string>(
         "-o,--output", [&output](std::string const& name) { output = kNames.at(name); },
         "Output format: text (the default) or json")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json");
}

/// An option that may be left out. CLI11's own for std::optional takes an empty text for none.
CLI::Option* add_text(CLI::App& app, char const* name, std::optional<std::string>& to,
                      std::string const& what) {
  return app.add_option_function<std::string>(
      name, [&to](std::string const& text) { to = text; }, what);
}

void add_config(CLI::App& app, config::LoadOptions& load) {
  add_text(app, "-c,--config", load.path,
           std::string("Configuration file; else $LASTCALL_CONFIG, else ") + config::kDefaultPath)
      ->type_name("FILE");
  app.add_option("--set", load.overrides, "Override one key; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Runs a command with its options.
template <typename Options>
Run runs(int (*run)(Options const&, config::Environment const&, std::ostream&, std::ostream&),
         std::shared_ptr<Options> const& options) {
  return [run, options](Streams const& streams) {
    return run(*options, config::process_environment(), streams.out, streams.err);
  };
}

Run setup_check(CLI::App& app) {
  auto const options = std::make_shared<CheckOptions>();
  add_config(app, options->load);
  add_output(app, options->output);
  app.add_flag("--strict", options->strict, "Treat warnings as errors");
  return runs(run_check, options);
}

Run setup_plan(CLI::App& app) {
  auto const options = std::make_shared<PlanOptions>();
  add_config(app, options->load);
  add_output(app, options->output);
  add_text(app, "--pod-grace", options->pod_grace,
           "The pod's grace period; else $LASTCALL_POD_GRACE_SECONDS, else 30s inside a pod")
      ->type_name("DURATION");
  return runs(run_plan, options);
}

Run setup_doctor(CLI::App& app) {
  auto const options = std::make_shared<DoctorOptions>();
  add_config(app, options->load);
  add_output(app, options->output);
  return [options](Streams const& streams) {
    return run_doctor(*options, streams.launch.path, streams.err);
  };
}

Run setup_version(CLI::App& app) {
  auto const options = std::make_shared<VersionOptions>();
  add_output(app, options->output);
  return [options](Streams const& streams) { return run_version(*options, streams.out); };
}

void add_operator(CLI::App& app, OperatorOptions& common) {
  add_config(app, common.load);
  add_output(app, common.output);
  add_text(app, "--admin-socket", common.admin_socket,
           "The supervisor's socket; else the configuration's ipc.admin_socket")
      ->type_name("PATH");
}

Run setup_status(CLI::App& app) {
  auto const options = std::make_shared<StatusOptions>();
  add_operator(app, options->common);
  app.add_flag("-w,--watch", options->watch, "Follow changes; a drain is shown as a bar");
  return runs(run_status, options);
}

Run setup_requests(CLI::App& app) {
  auto const options = std::make_shared<OperatorOptions>();
  add_operator(app, *options);
  return runs(run_requests, options);
}

Run setup_drain(CLI::App& app) {
  auto const options = std::make_shared<DrainOptions>();
  add_operator(app, options->common);
  app.add_flag("--exit", options->exit, "Drain and then stop; this cannot be undone by resume");
  app.add_flag("--wait", options->wait, "Follow the drain to its end");
  add_text(app, "--timeout", options->timeout,
           "How long requests may take to finish; those that still run then are cancelled")
      ->type_name("DURATION");
  return runs(run_drain, options);
}

Run setup_resume(CLI::App& app) {
  auto const options = std::make_shared<OperatorOptions>();
  add_operator(app, *options);
  return runs(run_resume, options);
}

Run setup_reload(CLI::App& app) {
  auto const options = std::make_shared<OperatorOptions>();
  add_operator(app, *options);
  return runs(run_reload, options);
}

Run setup_cancel(CLI::App& app) {
  auto const options = std::make_shared<CancelOptions>();
  add_operator(app, options->common);
  app.add_option("ids", options->ids, "Requests to cancel")->check(id_problem)->type_name("ID");
  app.add_option("--root", options->root, "Cancel all requests of this root")
      ->check(id_problem)
      ->type_name("ID");
  app.add_flag("--kill", options->kill, "Cut the requests off instead of asking them to stop");
  app.footer(
      "Either IDs or --root is required. The engine ends the requests a moment later.\n"
      "Exit codes: 0 if at least one request was cancelled; 1 if none was in flight, all were\n"
      "cancelled already, or no supervisor was found; 2 for bad usage or a bad configuration.");
  return runs(run_cancel, options);
}

Run setup_admission(CLI::App& app) {
  auto const options = std::make_shared<AdmissionOptions>();
  add_operator(app, options->common);
  auto const add = [&app](char const* name, std::optional<std::string>& to, char const* what,
                          char const* type) {
    add_text(app, name, to, what + std::string("; null removes this limit"))->type_name(type);
  };
  add("--engine-request-limit", options->engine_request_limit, "Requests that may run at once",
      "N");
  add("--queue-limit", options->queue_limit, "Requests that may wait for a place", "N");
  add("--queue-timeout", options->queue_timeout, "Longest wait for a place", "DURATION");
  add("--engine-wait-limit", options->engine_wait_limit,
      "Requests that may wait for their "
      "first byte",
      "N");
  add("--active-decode-blocks-threshold", options->active_decode_blocks_threshold,
      "Share of KV cache blocks above which a rank is busy", "SHARE");
  add("--active-prefill-tokens-threshold", options->active_prefill_tokens_threshold,
      "Tokens in prefill above which a rank is busy", "N");
  return runs(run_admission, options);
}

Run setup_wait_ready(CLI::App& app) {
  auto const options = std::make_shared<WaitReadyOptions>();
  add_operator(app, options->common);
  app.add_option("--timeout", options->timeout, "How long to wait (60s)")->type_name("DURATION");
  return runs(run_wait_ready, options);
}

Run setup_serve(CLI::App& app) {
  auto const command = std::make_shared<ServeCommand>();
  add_config(app, command->load);
  // Only `run` sets these three; it made the directory.
  app.add_option("--private-directory", command->private_directory)->group("");
  app.add_option("--shim-socket", command->shim_socket)->group("");
  app.add_option("--parent", command->parent)->group("");
  return [command](Streams const& streams) {
    return run_serve(*command, config::process_environment(), streams.err);
  };
}

Run setup_run(CLI::App& app) {
  auto const command = std::make_shared<RunCommand>();
  add_config(app, command->load);
  app.add_option(
         "--supervisor-timeout", command->supervisor_timeout,
         "If the supervisor has not answered within this time, start the command without it")
      ->type_name("DURATION");
  app.add_flag("--tty", command->tty, "Give the command the terminal, so that it receives Ctrl-C");
  app.add_flag("--required", command->required, "Never start the command without the supervisor");
  app.add_option("command", command->stray,
                 "The engine's command line, after `--`; the default is engine.command")
      ->type_name("COMMAND [ARGUMENT]");
  return [command](Streams const& streams) {
    command->command = streams.after_dashes;
    command->launch = streams.launch;
    return run_run(*command, config::process_environment(), streams.err);
  };
}

Run setup_probe(CLI::App& app) {
  auto const options = std::make_shared<ProbeOptions>();
  add_config(app, options->load);
  add_output(app, options->output);
  app.add_option("probe", options->probe, "Probe to call (livez)")
      ->check(CLI::IsMember({"livez", "readyz", "startupz", "engine/livez", "engine/startupz",
                             "health", "live"})
                  .description(""))
      ->type_name("livez|readyz|startupz|engine/livez|engine/startupz|health|live");
  add_text(app, "--address", options->address,
           "Address to call; else the configuration's probes.listen")
      ->type_name("HOST:PORT");
  app.add_option("--timeout", options->timeout, "How long to wait for the answer (1s)")
      ->type_name("DURATION");
  return runs(run_probe, options);
}

Run setup_replay(CLI::App& app) {
  auto const options = std::make_shared<ReplayOptions>();
  add_output(app, options->output);
  app.add_option("file", options->file, "A log of level debug in JSON; - reads standard input")
      ->type_name("FILE")
      ->required();
  return
      [options](Streams const& streams) { return run_replay(*options, streams.out, streams.err); };
}

Run setup_completion(CLI::App& app) {
  auto const shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "The shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->type_name("bash|zsh|fish")
      ->required();
  return [shell](Streams const& streams) {
    return run_completion(*shell, streams.tree(), streams.out);
  };
}

/// The commands for manifests and API servers.
constexpr char const* kKube = "lastcall-kube";

constexpr Command kCommands[] = {
    {"serve", "Run the supervisor beside an engine's shim", setup_serve},
    {"run", "Run an engine with its supervisor in one container", setup_run, true},
    {"status", "Print the supervisor's state", setup_status},
    {"requests", "List the requests in flight", setup_requests},
    {"drain", "Take this instance out of service, or stop it with --exit", setup_drain},
    {"resume", "Undo a drain", setup_resume},
    {"cancel", "Cancel requests in flight", setup_cancel},
    {"admission", "Show or change the limits of admission", setup_admission},
    {"reload", "Make the supervisor read its configuration again", setup_reload},
    {"wait-ready", "Block until the instance should receive requests", setup_wait_ready},
    {"plan", "Print the shutdown timeline of a configuration", setup_plan},
    {"check", "Validate a configuration and print every problem", setup_check},
    {"probe", "Call a probe of the supervisor, for example in an exec probe", setup_probe},
    {"doctor", "Examine this host or pod and report problems", setup_doctor},
    {"replay", "Make the decisions of a debug log again and compare them", setup_replay},
    {"inject", "Put lastcall into Kubernetes manifests", nullptr, false, kKube},
    {"rollout", "Report what a rollout of many pods did to requests", nullptr, false, kKube},
    {"webhook", "Put lastcall into pods when the API server creates them", nullptr, false, kKube},
    {"completion", "Print the completion script of a shell", setup_completion},
    {"version", "Print the version", setup_version},
};

}  // namespace

std::span<Command const> commands() {
  return kCommands;
}

}  // namespace lastcall::cli
