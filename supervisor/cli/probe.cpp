#include <ostream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "base/words.hpp"
#include "config/text.hpp"
#include "probes/listener/probe_client.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/operator.hpp"
#include "supervisor/cli/problems.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

constexpr int kOk = 200;

/// The address of the probe listener; absent after a complaint.
std::optional<config::Address> address_of(ProbeOptions const& options,
                                          config::Environment const& environment,
                                          std::ostream& err) {
  if (options.address) {
    std::optional<config::Address> address = config::parse_address(*options.address);
    if (!address || address->port == 0) {
      err << "lastcall probe: --address " << *options.address
          << ": expected a host and a port such as 127.0.0.1:7090\n";
      return std::nullopt;
    }
    return address;
  }
  config::Loaded loaded = config::load(options.load, environment);
  if (!loaded.errors.empty()) {
    loaded.warnings.clear();  // the supervisor prints them
    print_problems(loaded, err);
    return std::nullopt;
  }
  if (loaded.config.probes.listen.port == 0) {
    err << "lastcall probe: probes.listen has port 0, a free one: expected --address\n";
    return std::nullopt;
  }
  return loaded.config.probes.listen;
}

/// The lines that report a failure, joined to one line; if there are none, the first line.
std::string reason_in(std::string_view body) {
  std::string const first(body.substr(0, body.find('\n')));
  std::string reason;
  for (std::string_view const line : split(body, "\n")) {
    if (line.starts_with("[-]")) {
      reason.append(reason.empty() ? "" : "; ").append(line.substr(3));
    }
  }
  return reason.empty() ? first : reason;
}

void print_text(ProbeOptions const& options, config::Address const& address,
                probes::ProbeAnswer const& answer, std::ostream& err) {
  if (answer.status == kOk) {
    return;
  }
  err << options.probe << ": ";
  if (answer.status == 0) {
    err << "cannot call " << config::to_text(address) << ": " << answer.problem << '\n';
  } else {
    err << answer.status << ' ' << reason_in(answer.body) << '\n';
  }
}

void print_json(ProbeOptions const& options, config::Address const& address,
                probes::ProbeAnswer const& answer, std::ostream& out) {
  nlohmann::ordered_json json{{"ok", answer.status == kOk},
                              {"probe", options.probe},
                              {"address", config::to_text(address)}};
  if (answer.status == 0) {
    json["problem"] = answer.problem;
  } else {
    json["status"] = answer.status;
    json["body"] = answer.body;
  }
  out << json::dump(json) << '\n';
}

}  // namespace

int run_probe(ProbeOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err) {
  std::optional<config::Duration> const timeout = config::parse_duration(options.timeout).value;
  if (!timeout || timeout->count() == 0) {
    err << "lastcall probe: --timeout " << options.timeout << ": expected a duration such as 1s\n";
    return kExitUsage;
  }
  std::optional<config::Address> const address = address_of(options, environment, err);
  if (!address) {
    return kExitUsage;
  }
  probes::ProbeAnswer const answer =
      probes::ask_probe(address->host, address->port, "/" + options.probe, *timeout);
  if (options.output == Output::json) {
    print_json(options, *address, answer, out);
  } else {
    print_text(options, *address, answer, err);
  }
  return answer.status == kOk ? kExitSuccess : kExitFailure;
}

}  // namespace lastcall::cli
