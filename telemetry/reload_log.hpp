// The outcome of reading a configuration again, and its records in the log.
//
// Rules:
//  1. Where there is an error, nothing is applied, and every error is reported.
//  2. A key that may not change live is refused by name, and its old value stays.
//
// No thread rule. Source: specification, 'Configuration'.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

struct Reload {
  std::vector<config::Difference> applied;
  std::vector<config::Difference> refused;
  std::vector<std::string> errors;  // not empty: nothing was applied
  std::vector<std::string> warnings;
};

/// Compares what was read: `differences` is asked where there are no errors.
Reload compared(config::Problems const& errors, config::Problems const& warnings,
                std::function<std::vector<config::Difference>()> const& differences);

/// A text as logs and answers have it: lists of commands can be long.
std::string shortened(std::string const& text);

/// One record for each key and error, and one with the outcome; `not_live`: why a key that
/// may not change live did not.
void report(Reload const& reload, std::string_view not_live, Log& log);

}  // namespace lastcall::runtime
