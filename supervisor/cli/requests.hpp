// `lastcall requests`: prints every request in flight, which it reads page by page.
#pragma once

#include <iosfwd>

#include "supervisor/cli/operator.hpp"

namespace lastcall::cli {

int run_requests(OperatorOptions const& options, config::Environment const& environment,
                 std::ostream& out, std::ostream& err);

}  // namespace lastcall::cli
