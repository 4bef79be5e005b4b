// Everything lastcall counts, as typed methods.
//
// Invariants:
//  1. Every family is in metric_table.hpp and in docs/metrics.md; a test compares all three.
//  2. No label is unbounded: closed sets are enumerators; names that users or engines choose are
//     capped at kMaxLabelValues per label, and later ones are counted as "other". Models that are
//     served have as many places of their own, because clients can make up any other name.
//  3. Counting does not allocate for a set of labels that was seen before.
//  4. A labelled family is absent until its first use, as Prometheus advises.
//
// Thread rule: the counting methods on the loop thread; serialize() on any one thread at a time.
// Source: Dynamo's metric names and labels; the Prometheus text format 0.0.4.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/action.hpp"
#include "core/vocabulary.hpp"
#include "probes/checks/check.hpp"
#include "probes/listener/probe_state.hpp"

namespace lastcall::probes {

/// Distinct values of a label that others choose (model, endpoint, check, registry).
inline constexpr std::size_t kMaxLabelValues = 64;

struct MetricIdentity {
  std::string dynamo_namespace = "dynamo";
  std::string component = "backend";
  std::string endpoint = "generate";  // the engine's name, not the API's name for an endpoint
  std::string model;                  // empty: not given
  std::string worker_id;              // the instance id, in hexadecimal as in Dynamo's keys
  std::string version;
};

/// How long something took; converts from any unit of measurement.
using Seconds = std::chrono::duration<double>;

enum class RegistryOperation : std::uint8_t { register_, deregister };
enum class Restarted : std::uint8_t { engine, supervisor, shim };

class Metrics {
 public:
  explicit Metrics(MetricIdentity const& identity);
  ~Metrics();
  Metrics(Metrics const&) = delete;
  Metrics& operator=(Metrics const&) = delete;

  // Requests. `endpoint` is the name that the engine or the API gives to it.
  void request_began(std::string_view endpoint);
  /// After a request_began of the same endpoint.
  void request_ended(std::string_view endpoint, lifecycle::Outcome outcome);
  struct Refused {
    bool begun = false;      // after a request_began, from the queue
    bool full = false;       // because limit and queue were full
    bool from_tier = false;  // the tier above counts it in the frontend's families
  };
  /// Counts a refusal and its outcome. Dynamo's counters are about lack of capacity, so they do not
  /// include a refusal because of a drain.
  void request_rejected(std::string_view model, std::string_view endpoint,
                        lifecycle::RejectedReason reason, Refused how);

  /// Counts how a request ended and how long it took, in addition to request_ended or
  /// request_rejected. A request that a tier above relays does not come from a user of ours: only
  /// the component's families count it.
  void request_settled(lifecycle::RequestSettled const& settled);

  /// The model exists: the configuration names it, or the engine has answered for it.
  void model_served(std::string_view model);

  // Cancellation: each request counts once, even if messages arrive twice; the ledger ensures that.
  /// `streaming` is absent if it is unknown whether the answer is streamed.
  void client_cancelled(std::string_view model, std::string_view endpoint,
                        std::optional<bool> streaming);
  void cancel_signalled(std::string_view endpoint, lifecycle::CancelReason reason);
  void cancel_confirmed(lifecycle::CancelReason reason, Seconds took);
  void set_cancels_unconfirmed(std::size_t count);
  void set_cancels_overdue(std::size_t count);

  // Lifecycle.
  void set_phase(lifecycle::Phase phase);
  void phase_ended(lifecycle::Phase phase, lifecycle::PhaseOutcome outcome, Seconds took);
  void set_grace(Seconds grace);
  void set_ready(bool ready);
  void set_shim_missing(bool missing);
  void set_stop_deadline(std::optional<std::int64_t> deadline_ms);  // CLOCK_MONOTONIC
  void stop_began(bool fatal);
  void signal_received(std::string_view signal);  // "TERM"
  void signal_ignored(std::string_view signal);
  void restarted(Restarted what);
  void slow_step(std::string_view event);
  void oom_kills(std::uint64_t count);
  /// A preStop call, for the engine's container or for our own.
  void hook_called(bool engine);
  /// `path` is a path of the probe port; it is empty for a call to the preStop listener.
  void call_refused(std::string_view path);
  /// A hook was called, but the pod lived on.
  void false_hook();
  void set_hooks_waiting(std::size_t count);
  void hook_released(Seconds held);
  void set_engine_awaited(bool awaited);

  // The engine.
  void set_verdict(lifecycle::Verdict verdict);
  void check_ended(std::string_view check, CheckOutcome const& outcome);

  // Admission.
  void set_admission(std::size_t running, std::size_t waiting);
  void set_admission_limits(std::optional<std::uint32_t> running, std::uint32_t waiting);
  void admission_waited(Seconds took);
  void set_busy(bool busy);
  /// The load that a data-parallel rank reports; a figure that it does not report, or no longer
  /// reports, is absent.
  void set_rank_load(std::uint32_t rank, std::optional<std::uint64_t> active_decode_blocks,
                     std::optional<std::uint64_t> kv_total_blocks,
                     std::optional<std::uint64_t> active_prefill_tokens);

  // Peers and registries. Roles, reasons and codes are words of the IPC's closed sets.
  void set_peers(std::string_view role, std::size_t count);
  void peer_dropped(std::string_view reason);
  void protocol_error(std::string_view code);
  void registry_ended(std::string_view registry, RegistryOperation operation, bool confirmed,
                      Seconds took);
  /// An attempt failed or an entry was lost, and the operation is tried again.
  void registry_retried(std::string_view registry, RegistryOperation operation);
  void set_registered(std::string_view registry, bool registered);

  // The ingress.
  void set_ingress_connections(std::size_t clients, std::size_t upstream);
  /// `type` is the type of the error object, one of a closed set.
  void ingress_refused(std::string_view type);
  /// `reason` names what is scarce, one of a closed set.
  void ingress_evicted(std::string_view reason);
  void ingress_shed(std::string_view reason);
  void set_ingress_buffers(std::size_t bytes);
  void ingress_control_called(bool is_granted);
  /// `reason` names why the handshake with a client failed, one of a closed set.
  void ingress_tls_failed(std::string_view reason);
  void first_byte(std::string_view model, std::string_view endpoint, Seconds took);
  void event_gap(std::string_view endpoint, Seconds took);

  /// For a scrape that includes the engine's own metrics; called on the thread that serializes.
  void set_engine_metrics_up(bool up);

  /// `state` gives the age of the loop's heartbeat at a scrape; without it the family is absent.
  void watch_heartbeat(PublishedState const& state);

  /// The text of a scrape.
  std::string serialize() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace lastcall::probes
