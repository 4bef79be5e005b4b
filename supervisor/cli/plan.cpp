#include "config/plan.hpp"

#include <ostream>
#include <utility>

#include "config/text.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/problems.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

/// The environment with the pod's grace from the flag, so that the same code checks both.
config::Environment with_pod_grace(config::Environment const& environment, std::string seconds) {
  return [environment, seconds = std::move(seconds)](char const* name) {
    return std::string_view(name) == "LASTCALL_POD_GRACE_SECONDS" ? std::optional(seconds)
                                                                  : environment(name);
  };
}

}  // namespace

int run_plan(PlanOptions const& options, config::Environment const& environment, std::ostream& out,
             std::ostream& err) {
  config::Environment effective = environment;
  if (options.pod_grace) {
    std::optional<config::Duration> const grace = config::parse_duration(*options.pod_grace).value;
    if (!grace || grace->count() % 1'000 != 0) {
      err << "lastcall: --pod-grace " << *options.pod_grace
          << ": expected whole seconds such as 120s\n";
      return kExitUsage;
    }
    effective = with_pod_grace(environment, std::to_string(grace->count() / 1'000));
  }
  config::Loaded loaded;
  if (!load_or_complain(options.load, effective, loaded, err)) {
    return kExitUsage;
  }
  config::Plan const plan = config::make_plan(loaded.config, loaded.grace);
  out << (options.output == Output::json ? config::to_json(plan) : config::to_text(plan));
  return kExitSuccess;
}

}  // namespace lastcall::cli
