// Rows of the configuration's key table that are not in settings_keys.cpp.
//
// Pure values, no thread rule.
#pragma once

#include "config/keys.hpp"
#include "router/settings.hpp"

namespace lastcall::router {

void add_load_keys(config::Keys& keys, LoadReading& load);
void add_rejection_keys(config::Keys& keys, Rejection& rejection);

}  // namespace lastcall::router
