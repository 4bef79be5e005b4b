// Whether the files that the configuration names are in this container.
//
// Hooks, exec checks and cleanup.paths see the supervisor's container, and are easily written for
// the engine's. A file that is not here is a note, not an error: `check` may run somewhere else
// again. Internal to config. Reads the file system; no thread rule.
#pragma once

#include "config/decode.hpp"
#include "config/environment.hpp"
#include "config/problem.hpp"
#include "config/schema.hpp"

namespace lastcall::config {

void look_around(Config const& config, Places const& places, Environment const& environment,
                 Problems& notes);

}  // namespace lastcall::config
