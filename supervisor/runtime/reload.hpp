// Reads the configuration again, into one that runs.
//
// Rules:
//  1. The same sources as at the start: the file that was read then, the variables, `--set`.
//  2. All or nothing where there is an error: the running configuration then stays as it is.
//  3. Keys marked live are taken over. Any other that differs is refused, by name and with the
//     reason, and stays: a later reload names it again.
//
// Reads one file; no thread rule. Source: specification, 'Configuration'; docs/ipc.md 'reload'.
#pragma once

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

/// Applies what may change live to `config`.
Reload read_again(config::LoadOptions const& options, config::Environment const& environment,
                  config::Config& config);

/// Why a key that is not live did not change.
inline constexpr std::string_view kNotLive =
    "needs a restart of the supervisor, which the engine does not notice";

/// The result of the message `reload`; shortened to fit into one line of the protocol.
std::string reload_json(Reload const& reload);

/// One record for each key and error, and one that says how it ended.
void tell(Reload const& reload, Log& log);

}  // namespace lastcall::runtime
