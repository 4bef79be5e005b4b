#include "supervisor/kube/rollout.hpp"

#include <optional>
#include <ostream>
#include <utility>

#include "config/text.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/kube/api_server.hpp"
#include "supervisor/kube/fleet_status.hpp"
#include "supervisor/kube/rollout_watch.hpp"
#include "supervisor/kube/workload.hpp"

namespace lastcall::kube {
namespace {

constexpr std::chrono::seconds kFirstPatience{20};

int complain(std::ostream& err, std::string const& verb, std::string const& what, int code) {
  err << "lastcall rollout " << verb << ": " << what << '\n';
  return code;
}

/// Returns what is wrong with the command line; empty if it is valid.
std::string wrong_with(RolloutOptions const& options) {
  if (options.workload.empty() == options.selector.empty()) {
    return "expected either a workload (KIND/NAME) or --selector";
  }
  if (!options.workload.empty() && !parse_workload(options.workload)) {
    return "'" + options.workload + "', expected KIND/NAME with one of " + known_kinds();
  }
  if (!config::parse_duration(options.timeout).value) {
    return "--timeout '" + options.timeout + "', expected a duration such as 30m";
  }
  if (!options.command.empty() && options.verb != "watch") {
    return "a command after `--` is only for watch";
  }
  return {};
}

}  // namespace

int run_rollout(RolloutOptions const& options, config::Environment const& environment,
                std::ostream& out, std::ostream& err) {
  if (std::string const wrong = wrong_with(options); !wrong.empty()) {
    return complain(err, options.verb, wrong, cli::kExitUsage);
  }
  auto found = find_access(options.access, environment);
  if (auto const* const none = std::get_if<NoAccess>(&found)) {
    return complain(err, options.verb, none->text, cli::kExitUsage);
  }
  ApiServer api(std::move(std::get<Access>(found)));
  Target target{.workload = parse_workload(options.workload), .selector = options.selector};
  if (target.workload) {
    Answer const answer = api.get(path_of(api, *target.workload), kFirstPatience);
    if (!answer.is_good()) {
      return complain(err, options.verb, answer.error, 1);
    }
    target.selector = selector_of(*target.workload, answer.json());
  }
  if (options.verb == "status") {
    return print_fleet_status(api, target.selector, options.json, out, err);
  }
  RolloutWatch watch(api, target, *config::parse_duration(options.timeout).value, options.json, out,
                     err);
  return watch.run(options.command);
}

}  // namespace lastcall::kube
