// Reads the configuration again, and applies it to the running one.
//
// Rules:
//  1. The sources are the same as at the start: the file that was read then, the environment
//     variables, and `--set`.
//  2. If there is an error, nothing changes: the running configuration stays as it is.
//  3. Keys marked live are applied. Any other key that differs is refused with its name and the
//     reason, and keeps its value; a later reload names it again.
//
// Reads one file; no thread rule. Source: specification, 'Configuration'; docs/ipc.md 'reload'.
#pragma once

#include <string>
#include <string_view>

#include "config/load.hpp"
#include "telemetry/reload_log.hpp"

namespace lastcall::runtime {

/// Applies the live keys to `config`.
telemetry::Reload read_again(config::LoadOptions const& options,
                             config::Environment const& environment, config::Config& config);

/// The reason why a key that is not live did not change.
inline constexpr std::string_view kNotLive =
    "needs a restart of the supervisor, which the engine does not notice";

/// The result for the message `reload`, shortened to fit into one line of the protocol.
std::string reload_json(telemetry::Reload const& reload);

}  // namespace lastcall::runtime
