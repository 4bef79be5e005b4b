// What the configuration asks for and this version does not do yet.
//
// The key table marks such rows (Key::not_yet). All of it is parsed and checked, so that a file can
// be written ahead of time; running with it would promise what does not happen, so it is a warning.
//
// Internal to supervisor/config. Pure values, no thread rule.
#pragma once

#include "supervisor/config/decode.hpp"
#include "supervisor/config/keys.hpp"
#include "supervisor/config/schema.hpp"
#include "supervisor/config/validate.hpp"

namespace lastcall::config {

void unsupported(Config const& config, Places const& places, Findings findings);

/// The part of the table that this version does not do and that `path` is in; empty: none.
std::string_view marked_part(Keys const& keys, std::string_view path);

}  // namespace lastcall::config
