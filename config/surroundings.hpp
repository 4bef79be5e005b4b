// Whether the files that the configuration names are in this container.
//
// Hooks, exec checks and cleanup.paths run in the supervisor's container, but are easily written as
// if they ran in the engine's. A missing file is a note, not an error, because `check` may run in
// yet another container. Internal to config. Reads the file system; no thread rule.
#pragma once

#include "config/decode.hpp"
#include "config/environment.hpp"
#include "config/problem.hpp"
#include "config/schema.hpp"

namespace lastcall::config {

void look_around(Config const& config, Places const& places, Environment const& environment,
                 Problems& notes);

}  // namespace lastcall::config
