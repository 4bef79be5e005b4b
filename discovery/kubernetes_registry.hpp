// The EndpointSlices of a Kubernetes cluster as a registry: their controller enters and removes
// this pod by its readiness, and what is confirmed here is that it has.
//
// Invariants:
//  1. Entering is done by the kubelet; here only the readiness gate and the label are patched,
//     where they are asked for.
//  2. Leaving patches them back, then lists and watches until no slice lists this pod as ready.
//  3. Before leaving the pod is read, once: `deletionTimestamp` is evidence that it goes for good,
//     and its grace bounds the stop. An answer that does not come soon, or is refused, proves
//     nothing.
//  4. disconnect() posts an Event of the pod with the outcome so far, where that is asked for.
//  5. note() posts an Event, too, on a thread of its own, so that an API server that hangs holds no
//     operation up. While one is under way the latest waits, with the number of those before it.
//  6. From the first entering to disconnect() the pod's deletion cost is kept, where that is asked
//     for (deletion_cost.hpp).
//  7. The token is read again for each request, the authority for each connection.
//
// Thread rule: as for every Registry; the callbacks are called on the loop.
// Source: specification, 'Discovery'; KEP-1672 for terminating endpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/http_client.hpp"
#include "discovery/kubernetes_wire.hpp"
#include "discovery/registry.hpp"

namespace lastcall::discovery {

struct KubernetesSummary {
  bool is_warning = false;
  std::string text;
  std::string reason{};  // empty: Drained, or DrainIncomplete of a warning
};

struct DeletionCostSettings {
  Duration every{0};                                        // 0: it is not written
  std::function<std::optional<std::uint64_t>()> in_flight;  // nothing: unknown
  std::function<void(std::string const&)> on_failure;
};

struct KubernetesSettings {
  HttpServer api_server;
  kubernetes::Pod pod;
  std::vector<std::string> services;  // empty: every slice of the namespace
  std::string readiness_gate;         // empty: no condition is written
  std::string serving_label;          // empty: no label is written
  bool after_others = false;          // both only once every other registry has this instance
  std::string token_file;
  HttpTls tls;
  std::function<KubernetesSummary()> summary;  // empty: no Event
  /// The pod is being deleted, with its deletionGracePeriodSeconds.
  std::function<void(std::chrono::seconds)> on_deletion;
  DeletionCostSettings deletion_cost;
};

std::unique_ptr<Registry> make_kubernetes_registry(boost::asio::any_io_executor executor,
                                                   KubernetesSettings settings);

}  // namespace lastcall::discovery
