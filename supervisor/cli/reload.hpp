// `lastcall reload`: has the supervisor read its configuration again.
//
// Exit codes: 0 everything that differs was taken over; 1 no supervisor there, it refused (a stop
// is under way), or some keys need a restart, each named; 2 the configuration has errors, all
// printed, and the old one stays.
#pragma once

#include <iosfwd>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

int run_reload(OperatorOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
