#include "supervisor/runtime/live_settings.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "supervisor/runtime/reload.hpp"
#include "supervisor/runtime/sessions/admission_control.hpp"
#include "supervisor/runtime/settings.hpp"

namespace lastcall::runtime {

LiveSettings::LiveSettings(config::Config config, std::vector<std::string> warnings,
                           config::LoadOptions sources, lifecycle::Lifecycle const& core,
                           EventSink& events, telemetry::Log& log, Callbacks callbacks)
    : config_(std::move(config)),
      warnings_(std::move(warnings)),
      sources_(std::move(sources)),
      core_(core),
      events_(events),
      log_(log),
      callbacks_(std::move(callbacks)) {}

OperatorSessions::ReloadAnswer LiveSettings::reload() {
  if (core_.snapshot().stop) {
    std::string const refusal = "cannot reload during a stop: the configuration stays as it is";
    log_.warning(refusal);
    return {.refusal = refusal, .result = {}};
  }
  config::Admission const before = config_.admission;
  telemetry::Reload const reload = read_again(sources_, config::process_environment(), config_);
  report(reload, kNotLive, log_);
  if (reload.errors.empty()) {
    warnings_ = reload.warnings;
    apply(before);
  }
  callbacks_.read_again();
  return {.refusal = std::nullopt, .result = reload_json(reload)};
}

void LiveSettings::apply(config::Admission const& before) {
  log_.set_level(config_.log.level);
  events_.feed(health_limits_from(config_));
  lifecycle::AdmissionState const now = core_.snapshot().admission;
  events_.feed(lifecycle::AdmissionLimitsChanged{reloaded(
      now.limits, admission_limits_from(before), admission_limits_from(config_.admission))});
  events_.feed(lifecycle::LoadThresholdsChanged{reloaded(
      now.thresholds, load_thresholds_from(before), load_thresholds_from(config_.admission))});
}

std::string LiveSettings::set_admission(ipc::AdmissionSet const& set) {
  events_.feed(lifecycle::AdmissionLimitsChanged{changed(core_.snapshot().admission.limits, set)});
  callbacks_.changed();
  return admission_json(core_.snapshot().admission).dump();
}

probes::Reply LiveSettings::thresholds_over_http(probes::ThresholdCall const& call) {
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
  events_.feed(lifecycle::LoadThresholdsChanged{probes::changed(thresholds(), *set)});
  callbacks_.changed();
  return probes::threshold_reply({.model = set->model, .thresholds = thresholds()});
}

std::string LiveSettings::set_thresholds(ipc::ThresholdsSet const& set) {
  events_.feed(
      lifecycle::LoadThresholdsChanged{changed(core_.snapshot().admission.thresholds, set)});
  callbacks_.changed();
  return admission_json(core_.snapshot().admission).dump();
}

}  // namespace lastcall::runtime
