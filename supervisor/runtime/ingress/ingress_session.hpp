// Makes the ingress a peer of the core: relayed requests enter the ledger, and the core's decisions
// about them are carried out on their connections.
//
// It has a part for what the ingress reports, one for what the core decides, and one for when the
// ingress listens; here they meet the relay.
//
// Thread rule: the loop's thread. Source: docs/ingress.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "ingress/relay.hpp"
#include "probes/metrics/metrics.hpp"
#include "supervisor/runtime/ingress/heap_trim.hpp"
#include "supervisor/runtime/ingress/ingress_decisions.hpp"
#include "supervisor/runtime/ingress/ingress_door.hpp"
#include "supervisor/runtime/ingress/ingress_reports.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class IngressSession {
 public:
  /// `on_cancels_taken` is called when cancels were taken from the core's list.
  IngressSession(boost::asio::io_context& io, config::Config const& config,
                 lifecycle::Lifecycle& core, EventSink& events, probes::Metrics& metrics,
                 telemetry::Log& log, IngressReports::Listeners listeners,
                 IngressDecisions::OnCancelsTaken on_cancels_taken);

  /// Returns the reason why it cannot listen; empty if it listens or the ingress is off.
  std::string start();
  /// The address at which it listens; empty if it does not listen.
  std::string address() const { return door_ ? door_->address() : std::string(); }

  // The orders of the core.
  /// A request that waited is admitted or rejected. For a request that begins, the decision is in
  /// the reply of begin().
  void admit(lifecycle::Admit const& order);
  void reject(lifecycle::Reject const& order);
  void cancels_ready();
  void phase(lifecycle::Phase phase);
  /// The supervisor restarts: connections are closed as in the first phase of a drain.
  void leave();
  /// The process ends, so no more clients are accepted.
  void end();
  /// After end(): parts from the clients that can be parted from now, each with an answer or an
  /// orderly end of its connection, and returns whether no others are left. A client that has
  /// connected a moment ago is awaited, so this is called again until it returns true.
  bool try_to_part();

  /// The checks that have passed prove that the engine was alive at `since`.
  void checks_passed(lifecycle::Instant since);
  /// Called when the shim or the engine may have changed.
  void refresh();
  /// Calls back once all requests that the core has cut so far are cut and reported.
  void after_cuts(std::function<void()> then);
  /// Finds out what the clients of these requests have received, and reports it in this call or
  /// soon.
  void deliveries(std::vector<std::string> ids, ingress::ReportDeliveries report) const;

 private:
  IngressReports::Listeners with_cancels(IngressReports::Listeners listeners) const;
  std::string look_up(config::Address const& upstream, std::vector<ingress::Endpoint>& found) const;
  std::string make_relay(ingress::Options const& options);

  boost::asio::io_context& io_;
  config::Config const& config_;
  lifecycle::Lifecycle& core_;
  EventSink& events_;
  probes::Metrics& metrics_;
  telemetry::Log& log_;
  IngressReports reports_;
  IngressDecisions::OnCancelsTaken const on_cancels_taken_;
  // Absent if the ingress is off. The relay reports until it has ended, so it ends first.
  std::unique_ptr<IngressDecisions> decisions_;
  std::unique_ptr<IngressDoor> door_;
  std::unique_ptr<ingress::Relay> relay_;
  std::unique_ptr<HeapTrim> heap_trim_;
};

}  // namespace lastcall::runtime
