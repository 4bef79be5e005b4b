// Whether what the configuration names is in this container.
//
// Hooks, exec checks and cleanup.paths see the supervisor's container, and are easily written for
// the engine's. What is not here is a note, not an error: `check` may run somewhere else again.
// Internal to supervisor/config. Reads the file system; no thread rule.
#pragma once

#include "supervisor/config/decode.hpp"
#include "supervisor/config/environment.hpp"
#include "supervisor/config/problem.hpp"
#include "supervisor/config/schema.hpp"

namespace lastcall::config {

void look_around(Config const& config, Places const& places, Environment const& environment,
                 Problems& notes);

}  // namespace lastcall::config
