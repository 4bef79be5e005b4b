// Makes a registry from its configuration.
//
// Rule: secrets come from files, which are read when they are needed, or from the environment. They
// never come from the configuration, because it is printed.
//
// Thread rule: the loop's thread. Source: docs/discovery.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "discovery/instance.hpp"
#include "discovery/kubernetes_registry.hpp"
#include "discovery/nats_events.hpp"
#include "discovery/registry.hpp"

namespace lastcall::runtime {

/// Whether there is a registry for SDKs that register themselves, because none of kind `ipc` is
/// configured.
bool asks_sdks_unnamed(config::Config const& config);

/// This pod's instance of `identity.endpoint`.
discovery::Instance instance_of(config::Config const& config,
                                std::optional<std::string> const& advertise);

/// The facts that a registry needs from the supervisor, and the reports that it sends back.
struct RegistryHooks {
  std::function<discovery::KubernetesSummary()> summary;  // about the stop so far
  /// Called when the pod is being deleted; the argument is the time that it has left.
  std::function<void(std::chrono::seconds)> on_deletion;
  std::function<std::optional<std::uint64_t>()> in_flight;  // absent if unknown
  /// Called when the pod's deletion cost could not be written.
  std::function<void(std::string const&)> on_cost_failed;
};

struct MadeRegistry {
  std::unique_ptr<discovery::Registry> registry;
  std::string problem;       // why there is no registry; else empty
  std::string warning = {};  // what it will need and lacks now; else empty
};
/// Makes a registry of any kind except `ipc`, which the loop makes itself.
MadeRegistry make_registry(boost::asio::any_io_executor const& executor,
                           config::Registry const& registry, discovery::Instance const& instance,
                           RegistryHooks const& hooks);

discovery::NatsSettings nats_settings(config::NatsEvents const& nats, std::string const& instance);

}  // namespace lastcall::runtime
