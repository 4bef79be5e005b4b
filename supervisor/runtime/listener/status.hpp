// The status for operators: the whole state, as JSON text.
//
// Rules:
//  1. A key is absent if its value is unknown.
//  2. Durations and ages are milliseconds relative to now, so the reader's clock does not matter.
//
// Thread rule: the loop's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/lifecycle.hpp"
#include "ipc/server.hpp"
#include "supervisor/runtime/engine/health_driver.hpp"
#include "supervisor/runtime/listener/readiness.hpp"
#include "supervisor/runtime/registries/registries.hpp"
#include "supervisor/runtime/sessions/sdk_sessions.hpp"
#include "supervisor/runtime/sessions/shim_session.hpp"
#include "supervisor/runtime/sessions/shim_watch.hpp"

namespace lastcall::runtime {

/// The facts that do not change once the process serves.
struct ServeFacts {
  std::string config_path;  // empty: the defaults are used
  std::string engine_socket;
  std::string admin_socket;
  std::string private_directory;
  std::string probes_address;
  std::string hooks_address;    // empty if it is off
  std::string ingress_address;  // empty if there is none
};

/// The sources of the answers. They all outlive the caller.
struct StatusSources {
  lifecycle::Lifecycle const& core;
  ipc::Server const& server;
  ShimSession const& shim;
  ShimWatch const& shim_watch;
  SdkSessions const& sdks;
  HealthDriver const& health;
  Registries const& registries;
  ServeFacts facts;
  std::vector<std::string> const& warnings;  // of the configuration
  std::function<Readiness()> readiness;
};

std::string status_json(StatusSources const& sources, lifecycle::Instant now);

/// The peer's name for operators.
std::string peer_name(StatusSources const& sources, ipc::PeerId peer);

/// Adds the public facts about the engine's shim, and about how the engine ended.
void put_shim_and_end(nlohmann::ordered_json& engine, StatusSources const& sources,
                      lifecycle::Snapshot const& snapshot);

/// The last result of a check, as one word.
std::string_view check_state(std::optional<lifecycle::CheckVerdict> last);

}  // namespace lastcall::runtime
