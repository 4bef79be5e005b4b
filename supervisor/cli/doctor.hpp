// `lastcall doctor`: becomes lastcall-doctor, the program beside the launcher.
//
// Exit code 0: nothing found; 1: something found, or the program is not there; 2: bad usage or
// configuration.
#pragma once

#include <iosfwd>
#include <string>

#include "config/load.hpp"
#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

struct DoctorOptions {
  config::LoadOptions load;
  Output output = Output::text;
};

/// `own_path`: of `lastcall` as users start it.
int run_doctor(DoctorOptions const& options, std::string const& own_path, std::ostream& err);

}  // namespace lastcall::cli
