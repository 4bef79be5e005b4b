// What the ingress reports about its requests and its clients, as events of the core, metrics and
// log lines.
//
// Invariant: a relayed request that counts begins, ends and is cancelled by the same events as a
// request of an SDK.
//
// Thread rule: the loop's thread. Source: docs/ingress.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "ingress/tracker.hpp"
#include "probes/metrics/metrics.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"
#include "telemetry/sparse_log.hpp"

namespace lastcall::runtime {

class IngressReports final : public ingress::Tracker {
 public:
  struct Listeners {
    /// Whether the engine's process may have ended, with the shim's report of that still on its
    /// way.
    std::function<bool()> engine_may_be_gone;
    /// Whether the engine answers with an error that may mean its death, which would then be
    /// confirmed.
    std::function<bool()> engine_may_be_dying;
    /// Called when such an error is held back until that is known.
    std::function<void()> error_held;
    std::function<void()> request_began;
    std::function<void(ingress::HandedOff const&)> handed_off;
    /// Called when serving one socket took long, on this thread or on one of the ingress's own.
    std::function<void(std::string_view kind, std::chrono::steady_clock::duration took)> slow_turn;
  };

  /// All but the listeners outlive it.
  IngressReports(config::Admission const& admission, EventSink& events, probes::Metrics& metrics,
                 telemetry::Log& log, Listeners listeners);

  ingress::Admission begin(ingress::Begun const& begun) override;
  void moved(std::string_view id) override;
  void client_gone(std::string_view id, lifecycle::CancelMode mode) override;
  void ended(std::string_view id, lifecycle::Outcome outcome) override;
  void handed_off(ingress::HandedOff const& handed) override;
  bool engine_may_be_gone() const override { return listeners_.engine_may_be_gone(); }
  bool engine_may_be_dying() const override { return listeners_.engine_may_be_dying(); }
  void error_held() override { listeners_.error_held(); }
  void first_byte(std::string_view id, std::string_view endpoint, std::string_view model,
                  std::chrono::milliseconds took) override;
  void event_gap(std::string_view endpoint, std::chrono::milliseconds took) override;
  void refused(relay::Refusal const& refusal) override;
  void evicted(ingress::Scarce what) override;
  void shed(ingress::Scarce what) override;
  void greeting_failed(ingress::GreetingFailed const& failed) override;
  void control_called(ingress::ControlCall const& call) override;
  void slow_turn(std::string_view kind, std::chrono::steady_clock::duration took) override;
  void connections(std::size_t clients, std::size_t upstream) override;

 private:
  config::Admission const& admission_;
  EventSink& events_;
  probes::Metrics& metrics_;
  telemetry::Log& log_;
  Listeners const listeners_;
  lifecycle::Instant reported_progress_;
  telemetry::SparseLog refused_control_;
  telemetry::SparseLog failed_greeting_;
};

}  // namespace lastcall::runtime
