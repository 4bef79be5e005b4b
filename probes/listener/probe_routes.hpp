// The answers to probes: paths and a published state in, a reply out.
//
//   /livez /startupz                the supervisor alone
//   /engine/livez /engine/startupz  the engine
//   /readyz                         whether to send requests here; if not, the body has the reason
//   /health /live                   the same for Dynamo's tools, as JSON
//   /metrics                        Prometheus text format 0.0.4
//
// Rules:
//  1. The body of a failing probe always names what fails; with `?verbose` the body of a passing
//     one lists every check, too, in the form of the Kubernetes API server.
//  2. `/livez` fails only on proof: the loop has had no heartbeat for `stall_after`, or the IPC
//     socket was lost. An idle supervisor's heartbeat is its health timer, so `stall_after` must be
//     well above health.interval: stall_limit() computes it.
//  3. `/live` never fails because of the engine. (Dynamo's workers fail it together with /health,
//     which kills a loading engine; its frontend does not. This follows the frontend.)
//
// A pure function of its arguments except for the heartbeat's clock; safe on any thread.
// Source: Kubernetes' API server health endpoints; Dynamo's health check reference.
#pragma once

#include <functional>
#include <string>

#include "probes/listener/listener.hpp"
#include "probes/listener/probe_state.hpp"

namespace lastcall::probes {

/// The time without a heartbeat after which the loop counts as stuck: 10 s, or three health
/// intervals if those are longer.
constexpr Duration stall_limit(Duration health_interval) {
  constexpr Duration kAtLeast{10'000};
  return health_interval * 3 > kAtLeast ? health_interval * 3 : kAtLeast;
}

class ProbeRoutes {
 public:
  /// `metrics` returns the text of a scrape; both are used on the listener's thread and outlive it.
  ProbeRoutes(PublishedState const& state, std::function<std::string()> metrics,
              Duration stall_after = stall_limit(Duration{2'000}));

  /// Adds the status page at `/` and its document at `/status` to the paths that the answer to a
  /// wrong path names; another object serves them. To be called before the first answer().
  void offer_status_page() { has_status_page_ = true; }

  Reply answer(Request const& request) const;

 private:
  PublishedState const& state_;
  std::function<std::string()> metrics_;
  Duration stall_after_;
  bool has_status_page_ = false;
};

}  // namespace lastcall::probes
