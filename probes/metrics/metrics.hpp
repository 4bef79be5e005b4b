// Everything lastcall counts, by topic: each topic registers its families and counts them.
//
// Invariants:
//  1. Every family is in metric_names.hpp and in docs/metrics.md; a test compares all three.
//  2. No label is unbounded: closed sets are enumerators; names that users or engines choose are
//     capped at kMaxLabelValues per label, and later ones are counted as "other". Models that are
//     served have as many places of their own, because clients can make up any other name.
//  3. Counting does not allocate for a set of labels that was seen before.
//  4. A labelled family is absent until its first use, as Prometheus advises.
//
// Thread rule: the topics' functions on the loop thread; serialize() on any one thread at a time.
// Source: Dynamo's metric names and labels; the Prometheus text format 0.0.4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/metrics/admission_metrics.hpp"
#include "probes/metrics/cancel_metrics.hpp"
#include "probes/metrics/engine_metrics.hpp"
#include "probes/metrics/hook_metrics.hpp"
#include "probes/metrics/ingress_metrics.hpp"
#include "probes/metrics/ipc_metrics.hpp"
#include "probes/metrics/lifecycle_metrics.hpp"
#include "probes/metrics/metric_registry.hpp"
#include "probes/metrics/process_metrics.hpp"
#include "probes/metrics/registry_metrics.hpp"
#include "probes/metrics/request_metrics.hpp"
#include "probes/metrics/supervisor_metrics.hpp"

namespace lastcall::probes {

class Metrics {
 public:
  explicit Metrics(MetricIdentity const& identity);

  RequestMetrics& requests() { return requests_; }
  CancelMetrics& cancels() { return cancels_; }
  LifecycleMetrics& lifecycle() { return lifecycle_; }
  ProcessMetrics& processes() { return processes_; }
  HookMetrics& hooks() { return hooks_; }
  EngineMetrics& engine() { return engine_; }
  AdmissionMetrics& admission() { return admission_; }
  IpcMetrics& ipc() { return ipc_; }
  RegistryMetrics& registries() { return registries_; }
  IngressMetrics& ingress() { return ingress_; }
  SupervisorMetrics& supervisor() { return supervisor_; }

  /// The model exists: the configuration names it, or the engine has answered for it.
  void model_served(std::string_view model) { registry_.keep("model", model); }

  /// The text of a scrape.
  std::string serialize();
  std::vector<MetricFamily> const& families() const { return registry_.families(); }

 private:
  MetricRegistry registry_;  // the topics refer to it
  RequestMetrics requests_;
  CancelMetrics cancels_;
  LifecycleMetrics lifecycle_;
  ProcessMetrics processes_;
  HookMetrics hooks_;
  EngineMetrics engine_;
  AdmissionMetrics admission_;
  IpcMetrics ipc_;
  RegistryMetrics registries_;
  IngressMetrics ingress_;
  SupervisorMetrics supervisor_;
};

}  // namespace lastcall::probes
