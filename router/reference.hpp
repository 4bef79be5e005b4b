// The reference of the router's configuration, generated from its key table.
//
// docs/router-config.md and docs/router-config.schema.json hold these texts; a test fails when they
// are stale, and `ninja router_config_reference` writes them again. Pure values, no thread rule.
#pragma once

#include <string>

namespace lastcall::router {

std::string reference_markdown();
std::string reference_schema();

}  // namespace lastcall::router
