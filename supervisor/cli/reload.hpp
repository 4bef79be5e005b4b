// `lastcall reload`: makes the supervisor read its configuration again.
//
// Exit codes: 0 all differences were applied; 1 no supervisor answered, it refused (a stop is in
// progress), or some keys, which are named, need a restart; 2 the configuration has errors, which
// are all printed, and the old one stays.
#pragma once

#include <iosfwd>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

int run_reload(OperatorOptions const& options, config::Environment const& environment,
               std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
