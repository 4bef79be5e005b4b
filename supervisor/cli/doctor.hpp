// `lastcall doctor`: becomes lastcall-doctor, the program beside this one.
//
// Exit code 0: nothing found; 1: something found, or the program is not there; 2: bad usage or
// configuration.
#pragma once

#include <iosfwd>

#include "config/load.hpp"
#include "supervisor/cli/options.hpp"

namespace lastcall::cli {

struct DoctorOptions {
  config::LoadOptions load;
  Output output = Output::text;
};

int run_doctor(DoctorOptions const& options, std::ostream& err);

}  // namespace lastcall::cli
