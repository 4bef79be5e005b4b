// Derives the front's options from the router's configuration.
//
// Thread rule: none.
#pragma once

#include "ingress/options.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

ingress::Options options_of(Settings const& settings);

}  // namespace lastcall::router
