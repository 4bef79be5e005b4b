// `lastcall serve`: runs the supervisor until it has ended.
//
// Thread rule: called once, from main.
#pragma once

#include <string>
#include <vector>

#include "config/load.hpp"
#include "config/schema.hpp"

namespace lastcall::runtime {

struct ServeOptions {
  config::PodGrace grace;
  config::LoadOptions load;           // the sources for a reload
  std::string config_path;            // the file that was read; empty: the defaults are used
  std::vector<std::string> warnings;  // of the configuration, for the log and `status`
  std::string private_directory;      // for this run only, removed at the end; empty: none
  bool shows_status = false;  // whether the probe port serves the status page to all clients
};

/// Returns the exit code of the process. By then everything has been written and flushed; the
/// caller must leave with _exit(2), because a hung worker thread must not delay the end of the
/// process.
int serve(config::Config const& config, ServeOptions const& options);

}  // namespace lastcall::runtime
