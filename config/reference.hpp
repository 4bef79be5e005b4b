// The reference of the configuration, generated from the key table.
//
// docs/config.md and docs/config.schema.json hold these texts; a test fails when they are stale,
// and `ninja config_reference` writes them anew. Pure values, no thread rule.
#pragma once

#include <string>

namespace lastcall::config {

/// docs/config.md
std::string reference_markdown();
/// docs/config.schema.json: JSON Schema, draft 2020-12, for editors.
std::string reference_schema();

}  // namespace lastcall::config
