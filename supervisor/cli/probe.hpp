// `lastcall probe`: asks one of the supervisor's probes, for exec probes in images without curl.
//
// It prints nothing on success and otherwise one line on stderr, which the kubelet shows in the
// pod's events. Exit codes: 0 the probe succeeds; 1 it fails, or there was no answer in time; 2 bad
// usage or configuration.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "config/load.hpp"
#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

struct ProbeOptions {
  config::LoadOptions load;
  std::string probe = "livez";         // a path without its leading slash
  std::optional<std::string> address;  // absent: the configuration's probes.listen
  std::string timeout = "1s";
  Output output = Output::text;
};

int run_probe(ProbeOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
