// `lastcall version`: prints which build this is.
#pragma once

#include <iosfwd>

#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

struct VersionOptions {
  Output output = Output::text;
};

int run_version(VersionOptions const& options, std::ostream& out);

}  // namespace lastcall::cli
