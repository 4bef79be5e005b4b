// `lastcall status`: what the supervisor knows, once or as it changes.
//
// --watch redraws on a terminal and prints one line a change elsewhere; during a drain it is a bar.
// It ends with 0 when the supervisor goes away after a stop, with 1 when it goes away before.
#pragma once

#include <iosfwd>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

struct StatusOptions {
  OperatorOptions common;
  bool watch = false;
};

int run_status(StatusOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

/// Follows the status until `done` says so (0) or the connection ends: `after_stop` where a stop
/// had come to its end, else a complaint and 1. A supervisor that dies stops no engine.
int follow_status(ipc::OperatorClient& client, Output output, std::ostream& out, std::ostream& err,
                  bool (*done)(std::string_view phase), int after_stop);

}  // namespace lastcall::cli
