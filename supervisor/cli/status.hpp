// `lastcall status`: shows the supervisor's status, once or whenever it changes.
//
// --watch redraws on a terminal and otherwise prints one line per change; during a drain it shows a
// bar. It ends with 0 when the supervisor ends after a stop, and with 1 when it ends without one.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

struct StatusOptions {
  OperatorOptions common;
  bool watch = false;
};

int run_status(StatusOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

/// The phase that a status or an answer to an order names; empty if it names none.
std::string phase_of(std::string_view answer);

/// The event that is followed to its end.
enum class Follow : unsigned char {
  everything,  // the supervisor's own end after a stop
  drain,       // `drained`; 1 if the drain was undone or a stop overtook it
  stop,        // `exited`, or the next phase of a supervisor that outlives its engine
};

/// Returns the exit code. If the connection ends before that event, it complains and returns 1: a
/// supervisor that dies stops no engine. `phase` is the one that the answer to the order named: a
/// supervisor that has just started holds orders until it knows its engine, and keeps its phase
/// meanwhile.
int follow_status(ipc::OperatorClient& client, Output output, std::ostream& out, std::ostream& err,
                  Follow follow, std::string phase = "");

}  // namespace lastcall::cli
