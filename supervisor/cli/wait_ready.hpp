// `lastcall wait-ready`: waits until requests may be sent to the engine, for scripts and start-up
// hooks.
//
// Exit code 0: ready; 1: not ready in time, with the reason on `err`.
#pragma once

#include <iosfwd>
#include <string>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

struct WaitReadyOptions {
  OperatorOptions common;
  std::string timeout = "60s";
};

int run_wait_ready(WaitReadyOptions const& options, config::Environment const& environment,
                   std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
