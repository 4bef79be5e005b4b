// `lastcall drain` and `lastcall resume`: take this instance out of service, and put it back.
//
// A drain is reversible; with --exit it is a stop and final. --wait follows it to its end: until
// `drained`, or until the end of the stop with --exit. A drain that was undone is a failure.
#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

struct DrainOptions {
  OperatorOptions common;
  bool exit = false;
  bool wait = false;
  std::optional<std::string> timeout;
};

int run_drain(DrainOptions const& options, config::Environment const& environment,
              std::ostream& out, std::ostream& err);

int run_resume(OperatorOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
