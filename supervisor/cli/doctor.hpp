// `lastcall doctor`: becomes lastcall-doctor, the program next to the launcher.
//
// Exit code 0: no findings; 1: findings, or the program does not exist; 2: bad usage or
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

/// `own_path` is the path of `lastcall` as users start it.
int run_doctor(DoctorOptions const& options, std::string const& own_path, std::ostream& err);

}  // namespace lastcall::cli
