// The outcome of reloading a configuration, and its records in the log.
//
// Rules:
//  1. If there is an error, nothing is applied, and every error is reported.
//  2. A change of a key that may not change live is refused by name, and the old value stays.
//
// No thread rule. Source: specification, 'Configuration'.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.hpp"
#include "telemetry/log.hpp"

namespace lastcall::telemetry {

struct Reload {
  std::vector<config::Difference> applied;
  std::vector<config::Difference> refused;
  std::vector<std::string> errors;  // if there are any, nothing was applied
  std::vector<std::string> warnings;
};

/// Makes the outcome; `differences` is called only if there are no errors.
Reload compared(config::Problems const& errors, config::Problems const& warnings,
                std::function<std::vector<config::Difference>()> const& differences);

/// Shortens a text for logs and answers: lists of commands can be long.
std::string shortened(std::string const& text);

/// Writes one record for each key and error, and one with the outcome. `not_live` states why a key
/// that may not change live was not changed.
void report(Reload const& reload, std::string_view not_live, Log& log);

}  // namespace lastcall::telemetry
