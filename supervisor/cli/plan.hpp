// `lastcall plan`: prints the shutdown timeline that results from a configuration.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "config/load.hpp"
#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

struct PlanOptions {
  config::LoadOptions load;
  std::optional<std::string> pod_grace;  // "120s"; overrides the environment's value
  Output output = Output::text;
};

int run_plan(PlanOptions const& options, config::Environment const& environment, std::ostream& out,
             std::ostream& err);

}  // namespace lastcall::cli
