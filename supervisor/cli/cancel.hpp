// `lastcall cancel`: cancels requests in flight, by id or by root.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

struct CancelOptions {
  OperatorOptions common;
  std::vector<std::string> ids;
  std::string root;
  bool kill = false;
};

/// Why no request can have this id or root; empty if one can.
std::string id_problem(std::string const& id);

/// Sends any number of ids, in as many lines as necessary, and prints one answer. The exit code is
/// also 1 if there was nothing to cancel.
int run_cancel(CancelOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
