// The configuration that is in effect, and the limits of admission that change while requests run.
//
// Rules:
//  1. A reload is refused during a stop. Rules for its keys are in reload.hpp, those for limits and
//     thresholds that were set otherwise in admission_control.hpp.
//  2. A change is an event for the core; the answer shows the state after it.
//  3. Each change is reported, so that what is shown follows it.
//
// Thread rule: the loop's thread. Source: specification, 'Configuration'; docs/ipc.md 'reload',
// 'admission.set' and 'thresholds.set'.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "probes/listener/busy_threshold.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "supervisor/runtime/sessions/operator_sessions.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class LiveSettings {
 public:
  struct Callbacks {
    /// The configuration was read again, with or without errors.
    std::function<void()> read_again;
    std::function<void()> changed;
  };

  /// `sources` are read for each reload; `warnings` are the warnings about `config`.
  LiveSettings(config::Config config, std::vector<std::string> warnings,
               config::LoadOptions sources, lifecycle::Lifecycle const& core, EventSink& events,
               telemetry::Log& log, Callbacks callbacks);

  /// The reference stays valid; a reload changes the live keys.
  config::Config const& config() const { return config_; }
  std::vector<std::string> const& warnings() const { return warnings_; }

  OperatorSessions::ReloadAnswer reload();
  /// Each answers with the current state as JSON text.
  std::string set_admission(ipc::AdmissionSet const& set);
  std::string set_thresholds(ipc::ThresholdsSet const& set);
  probes::Reply thresholds_over_http(probes::ThresholdCall const& call);

 private:
  void apply(config::Admission const& before);

  config::Config config_;
  std::vector<std::string> warnings_;
  config::LoadOptions const sources_;
  lifecycle::Lifecycle const& core_;
  EventSink& events_;
  telemetry::Log& log_;
  Callbacks const callbacks_;
};

}  // namespace lastcall::runtime
