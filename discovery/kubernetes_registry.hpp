// The EndpointSlices of a Kubernetes cluster as a registry: their controller adds and removes this
// pod according to its readiness, and this class confirms that it has done so.
//
// Invariants:
//  1. The pod enters the slices by the kubelet's readiness; here only the readiness gate and the
//     label are patched, if they are configured.
//  2. Leaving patches them back, then lists and watches until no slice lists this pod as ready. A
//     pod that was removed by force has neither of them any more: only the slices are asked.
//  3. Before leaving, the pod is read once: a `deletionTimestamp` proves that it goes for good, and
//     its grace limits the stop. A refusal, or no answer soon, proves nothing.
//  4. disconnect() posts an Event for the pod with the outcome so far, if that is configured.
//  5. note() posts an Event, too, on a thread of its own, so that an API server that hangs delays
//     no operation. While one is being posted only the latest note waits, with the number of notes
//     that it replaced.
//  6. From the first registration to disconnect() the pod's deletion cost is kept up to date, if
//     that is configured (deletion_cost.hpp).
//  7. The token is read again for each request, the certificate authority for each connection.
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
  std::string reason{};  // empty: Drained, or DrainIncomplete for a warning
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
  bool after_others = false;          // write both only after all other registries are registered
  std::string token_file;
  HttpTls tls;
  std::function<KubernetesSummary()> summary;  // empty: no Event
  /// Called if the pod is being deleted, with its deletionGracePeriodSeconds.
  std::function<void(std::chrono::seconds)> on_deletion;
  DeletionCostSettings deletion_cost;
};

std::unique_ptr<Registry> make_kubernetes_registry(boost::asio::any_io_executor executor,
                                                   KubernetesSettings settings);

}  // namespace lastcall::discovery
