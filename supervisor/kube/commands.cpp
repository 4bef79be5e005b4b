// The definitions of the subcommands for CLI11: names, options and the functions that run.
#include "supervisor/kube/commands.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "config/environment.hpp"
#include "supervisor/kube/inject.hpp"
#include "supervisor/kube/rollout.hpp"
#include "supervisor/kube/webhook.hpp"

namespace lastcall::kube {
namespace {

void add_words(CLI::App& app, char const* name, std::vector<std::string>& to, char const* what,
               char const* type) {
  app.add_option(name, to, what)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_mode(CLI::App& app, inject::Options& to) {
  app.add_option_function<std::string>(
         "--mode", [&to](std::string const& mode) { to.is_native = mode == "native"; },
         "Form of the sidecar: native (the default) or plain")
      ->check(CLI::IsMember({"native", "plain"}).description(""))
      ->type_name("native|plain");
}

/// Complains about a text that cannot be part of an API path or a certificate's name.
std::string is_no_name(std::string const& text) {
  constexpr std::size_t kLongest = 253;
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-.";
  bool const is_name = !text.empty() && text.size() <= kLongest &&
                       text.find_first_not_of(kLetters) == std::string::npos && text.front() != '.';
  return is_name ? "" : "'" + text + "' is not a name of a Kubernetes object";
}

cli::Run setup_inject(CLI::App& app) {
  auto const options = std::make_shared<InjectOptions>();
  inject::Options& to = options->inject;
  to.pod.image = "lastcall:" LASTCALL_VERSION;
  to.pod.shim_image = "lastcall-shim:" LASTCALL_VERSION;
  app.add_option("files", options->files, "Manifests; - or no file reads standard input")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--container", [&to](std::string const& name) { to.container = name; },
         "The engine's container; else the one that the pod's annotation names, else its main one")
      ->type_name("NAME");
  add_words(app, "--only", to.only, "Change only this workload; may be repeated", "KIND/NAME");
  add_words(app, "--template", options->templates,
            "Path of the pod's template or spec in another kind; may be repeated", "KIND=PATH");
  app.add_option_function<std::string>(
         "-c,--config", [options](std::string const& path) { options->config = path; },
         "The sidecar's configuration; it is put into an annotation of the pod")
      ->type_name("FILE");
  add_words(app, "--set", to.overrides, "One key of the configuration; may be repeated",
            "KEY=VALUE");
  add_mode(app, to);
  app.add_option("--image", to.pod.image, "The sidecar's image")->type_name("IMAGE");
  app.add_option("--shim-image", to.pod.shim_image, "The image that installs the shim")
      ->type_name("IMAGE");
  app.add_flag("--require-shim", to.requires_shim, "Refuse a container without a command");
  app.add_flag("--diff", options->diff, "Print a diff of the manifests instead");
  app.add_flag("--uninject", options->uninject, "Remove what was injected");
  return [options](cli::Streams const& streams) {
    return run_inject(*options, streams.out, streams.err);
  };
}

cli::Run setup_rollout(CLI::App& app) {
  auto const options = std::make_shared<RolloutOptions>();
  app.add_option("verb", options->verb,
                 "Print the pods' status now, or watch them through the "
                 "rollout")
      ->check(CLI::IsMember({"status", "watch"}).description(""))
      ->type_name("status|watch")
      ->required();
  app.add_option("workload", options->workload, "The workload of the pods")->type_name("KIND/NAME");
  app.add_option("-l,--selector", options->selector, "Select pods by these labels instead")
      ->type_name("LABELS");
  app.add_option("-n,--namespace", options->access.space, "Namespace; else the context's")
      ->type_name("NAME");
  app.add_option("--context", options->access.context,
                 "Context of the kubeconfig; else its "
                 "current one")
      ->type_name("NAME");
  app.add_option("--kubeconfig", options->access.kubeconfig,
                 "Kubeconfig; else $KUBECONFIG, ~/.kube/config, or the pod's account")
      ->type_name("FILE");
  app.add_option("--timeout", options->timeout, "How long a watch may take (30m)")
      ->type_name("DURATION");
  app.add_option_function<std::string>(
         "-o,--output", [options](std::string const& name) { options->json = name == "json"; },
         "Output format: text (the default) or json")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json");
  app.footer("A command after `--` begins the rollout; it runs once the pods are watched.");
  return [options](cli::Streams const& streams) {
    options->command = streams.after_dashes;
    return run_rollout(*options, config::process_environment(), streams.out, streams.err);
  };
}

/// Adds the options for a webhook that makes its certificate itself.
void add_keeping(CLI::App& app, WebhookOptions& to) {
  CLI::Validator const is_name(is_no_name, "", "name of an object");
  auto* const secret =
      app.add_option("--secret", to.kept.secret, "Make the certificate and keep it in this Secret")
          ->type_name("NAME")
          ->check(is_name);
  auto* const service = app.add_option("--service", to.kept.service,
                                       "The Service that API servers call, with --secret")
                            ->type_name("NAME")
                            ->check(is_name);
  auto* const registration =
      app.add_option("--registration", to.kept.registration,
                     "The MutatingWebhookConfiguration that must trust it, with --secret")
          ->type_name("NAME")
          ->check(is_name);
  secret->needs(service, registration);
  service->needs(secret);
  registration->needs(secret);
  for (char const* const file : {"--tls-cert", "--tls-key"}) {
    secret->excludes(app.get_option(file));
  }
  app.add_option("-n,--namespace", to.access.space,
                 "Namespace of Secret and Service; else the "
                 "context's")
      ->type_name("NAME")
      ->check(is_name)
      ->needs(secret);
  app.add_option("--kubeconfig", to.access.kubeconfig,
                 "Kubeconfig; else $KUBECONFIG, ~/.kube/config, or the pod's account")
      ->type_name("FILE")
      ->needs(secret);
}

cli::Run setup_webhook(CLI::App& app) {
  auto const options = std::make_shared<WebhookOptions>();
  inject::Options& to = options->review.inject;
  to.pod.image = "lastcall:" LASTCALL_VERSION;
  to.pod.shim_image = "lastcall-shim:" LASTCALL_VERSION;
  app.add_option("--listen", options->listen, "Address for the API server, with TLS ([::]:8443)")
      ->type_name("ADDRESS:PORT");
  app.add_option("--probes", options->probes, "Address for probes and scrapes ([::]:8081)")
      ->type_name("ADDRESS:PORT");
  app.add_option("--tls-cert", options->certificate,
                 "Certificate and chain in PEM (/etc/lastcall/tls/tls.crt); read again when it "
                 "changes")
      ->type_name("FILE");
  app.add_option("--tls-key", options->key, "Its key in PEM (/etc/lastcall/tls/tls.key)")
      ->type_name("FILE");
  app.add_option("--pods", options->pods,
                 "Settings of the parts that are put into pods; else the defaults")
      ->type_name("FILE");
  add_mode(app, to);
  app.add_option_function<std::string>(
         "--on-failure",
         [options](std::string const& word) {
           options->review.on_failure = word == "deny"   ? OnFailure::deny
                                        : word == "warn" ? OnFailure::warn
                                                         : OnFailure::audit;
         },
         "What happens to a pod that cannot get lastcall: deny (the default), warn or audit")
      ->check(CLI::IsMember({"deny", "warn", "audit"}).description(""))
      ->type_name("deny|warn|audit");
  add_keeping(app, *options);
  return [options](cli::Streams const& streams) {
    return run_webhook(*options, config::process_environment(), streams.err);
  };
}

/// Prints the commands for `lastcall completion`.
cli::Run setup_tree(CLI::App& /*app*/) {
  return [](cli::Streams const& streams) {
    print_tree(streams.tree(), streams.out);
    return cli::kExitSuccess;
  };
}

constexpr cli::Command kCommands[] = {
    {"inject", "Put lastcall into Kubernetes manifests", setup_inject},
    {"rollout", "Report what a rollout of many pods did to requests", setup_rollout, true},
    {"webhook", "Put lastcall into pods when the API server creates them", setup_webhook},
    {"tree", "", setup_tree},
};

}  // namespace

std::span<cli::Command const> commands() {
  return kCommands;
}

char const* version() {
  return LASTCALL_VERSION;
}

}  // namespace lastcall::kube
