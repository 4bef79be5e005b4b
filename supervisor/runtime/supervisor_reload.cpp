// Handles configuration that changes at run time, and signals that only the supervisor receives.
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "supervisor/runtime/sessions/admission_control.hpp"
#include "supervisor/runtime/settings.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {

void Supervisor::own_signal(std::string const& name) {
  if (name == "HUP") {
    log_.info("reload requested", {{"by", "signal HUP"}});
    reload();
    return;
  }
  log_.info("stop signal", {{"signal", name}, {"from", "supervisor"}});
  probes_.metrics().signal_received(name);
  loop_.feed(lifecycle::OwnSignal{name});
  changed();
}

OperatorSessions::ReloadAnswer Supervisor::reload() {
  if (core_.snapshot().stop) {
    std::string const refusal = "cannot reload during a stop: the configuration stays as it is";
    log_.warning(refusal);
    return {.refusal = refusal, .result = {}};
  }
  config::Admission const before = config_.admission;
  Reload const reload = read_again(reload_, config::process_environment(), config_);
  report(reload, kNotLive, log_);
  if (reload.errors.empty()) {
    facts_.warnings = reload.warnings;
    apply_live_settings(before);
  }
  server_.follow_sockets();
  changed();
  return {.refusal = std::nullopt, .result = reload_json(reload)};
}

void Supervisor::apply_live_settings(config::Admission const& before) {
  log_.set_level(config_.log.level);
  loop_.feed(health_limits_from(config_));
  lifecycle::AdmissionState const now = core_.snapshot().admission;
  loop_.feed(lifecycle::AdmissionLimitsChanged{reloaded(now.limits, admission_limits_from(before),
                                                        admission_limits_from(config_.admission))});
  loop_.feed(lifecycle::LoadThresholdsChanged{reloaded(now.thresholds, load_thresholds_from(before),
                                                       load_thresholds_from(config_.admission))});
}

std::string Supervisor::set_admission(ipc::AdmissionSet const& set) {
  loop_.feed(
      lifecycle::AdmissionLimitsChanged{runtime::changed(core_.snapshot().admission.limits, set)});
  changed();
  return admission_json(core_.snapshot().admission).dump();
}

probes::Reply Supervisor::thresholds_over_http(probes::ThresholdCall const& call) {
  std::string const& own = config_.identity.model;
  auto const thresholds = [this] { return core_.snapshot().admission.thresholds; };
  auto const* set = std::get_if<probes::ThresholdChange>(&call);
  if (set == nullptr) {
    return probes::threshold_list({{.model = own, .thresholds = thresholds()}});
  }
  bool const is_served = set->model == own || core_.requests().models().knows(set->model);
  if (set->is_read()) {
    return probes::threshold_reply(
        {.model = set->model,
         .thresholds = is_served ? thresholds() : lifecycle::LoadThresholds{}});
  }
  if (!is_served) {
    return probes::threshold_error(404, "model: '" + set->model + "' is not served here");
  }
  log_.info("load thresholds set", {{"by", "http"}, {"model", set->model}});
  loop_.feed(lifecycle::LoadThresholdsChanged{probes::changed(thresholds(), *set)});
  changed();
  return probes::threshold_reply({.model = set->model, .thresholds = thresholds()});
}

std::string Supervisor::set_thresholds(ipc::ThresholdsSet const& set) {
  loop_.feed(lifecycle::LoadThresholdsChanged{
      runtime::changed(core_.snapshot().admission.thresholds, set)});
  changed();
  return admission_json(core_.snapshot().admission).dump();
}

}  // namespace lastcall::runtime
