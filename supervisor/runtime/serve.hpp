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
  config::LoadOptions load;           // the sources of a reload
  std::string config_path;            // the file that was read; empty: the defaults
  std::vector<std::string> warnings;  // of the configuration, for the log and `status`
  std::string private_directory;      // for this run only, removed at the end; empty: none
  bool shows_status = false;          // on the probe port, for all clients
};

/// The exit code of the process. Everything has been written and flushed; the caller leaves with
/// _exit(2), because a hung worker thread must not hold the process.
int serve(config::Config const& config, ServeOptions const& options);

}  // namespace lastcall::runtime
