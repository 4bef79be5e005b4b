// The configuration that changes while we run, and the signals that only we get.
#include "supervisor/runtime/clock.hpp"
#include "supervisor/runtime/settings.hpp"
#include "supervisor/runtime/supervisor.hpp"

namespace lastcall::runtime {

void Supervisor::own_signal(std::string const& name) {
  if (name == "HUP") {
    log_.info("reload asked for", {{"by", "signal HUP"}});
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
  Reload const reload = read_again(reload_, config::process_environment(), config_);
  tell(reload, log_);
  if (reload.errors.empty()) {
    facts_.warnings = reload.warnings;
    apply_live_settings();
  }
  changed();
  return {.refusal = std::nullopt, .result = reload_json(reload)};
}

void Supervisor::apply_live_settings() {
  log_.set_level(config_.log.level);
  loop_.feed(health_limits_from(config_));
}

}  // namespace lastcall::runtime
