// The problems that `lastcall check` finds in the configuration that an injected sidecar gets.
//
// Thread rule: none. Source: config/load.hpp, which the sidecar uses, too.
#pragma once

#include <string>

#include "config/problem.hpp"
#include "inject/inject.hpp"

namespace lastcall::kube {

/// Checks it as the sidecar will read it in its pod. `source` is the file's name in problems.
config::Problems problems_of(inject::SidecarConfig const& sidecar, std::string const& source);

}  // namespace lastcall::kube
