// The problems that `lastcall check` finds in the configuration that an injected sidecar gets.
//
// Thread rule: none. Source: config/load.hpp, by which the sidecar reads it, too.
#pragma once

#include <string>

#include "config/problem.hpp"
#include "inject/inject.hpp"

namespace lastcall::kube {

/// As the sidecar will read it, in its pod. `source` is what problems call its file.
config::Problems problems_of(inject::SidecarConfig const& sidecar, std::string const& source);

}  // namespace lastcall::kube
