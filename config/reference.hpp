// The reference of the configuration, generated from the key table.
//
// docs/config.md and docs/config.schema.json hold these texts; a test fails when they are stale,
// and `ninja -C build/dev config_reference` writes them again. Pure values, no thread rule.
#pragma once

#include <string>
#include <string_view>

#include "config/keys.hpp"

namespace lastcall::config {

/// docs/config.md
std::string reference_markdown();
/// The same for the rows of another program.
std::string reference_markdown(std::string_view introduction, Keys const& keys);
/// docs/config.schema.json: JSON Schema, draft 2020-12, for editors.
std::string reference_schema();
std::string reference_schema(std::string_view title, std::string_view doc, Keys const& keys);

}  // namespace lastcall::config
