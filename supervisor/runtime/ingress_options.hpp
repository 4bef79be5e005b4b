// What the configuration and the limit of open files make of the proxy's options.
//
// Reads the process's limit, nothing else. No thread rule.
#pragma once

#include "ingress/options.hpp"
#include "supervisor/config/schema.hpp"

namespace lastcall::runtime {

/// Without the engine's address, which has to be looked up.
ingress::Options ingress_options(config::Config const& config);

}  // namespace lastcall::runtime
