// `lastcall status`: what the supervisor knows, once or as it changes.
//
// --watch redraws on a terminal and prints one line a change elsewhere; during a drain it is a bar.
// It ends with 0 when the supervisor goes away after a stop, with 1 when it goes away before.
#pragma once

#include <iosfwd>
#include <string>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

struct StatusOptions {
  OperatorOptions common;
  bool watch = false;
};

int run_status(StatusOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

/// The event that is followed to its end.
enum class Follow : unsigned char {
  everything,  // the supervisor's own end, if a stop led to it
  drain,       // `drained`; 1 if it was undone, or a stop overtook it
  stop,        // `exited`, or what a supervisor that outlives its engine does next
};

/// The exit code. A connection that ends elsewhere is a complaint and 1: a supervisor that dies
/// stops no engine. `phase`: the one that the answer to the order named. A supervisor that has just
/// started holds orders until it knows of its engine, and stays in its phase meanwhile.
int follow_status(ipc::OperatorClient& client, Output output, std::ostream& out, std::ostream& err,
                  Follow follow, std::string phase = "");

}  // namespace lastcall::cli
