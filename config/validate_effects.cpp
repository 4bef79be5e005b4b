// Warns of settings that have no effect or a different one than was meant.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "config/endpoint_names.hpp"
#include "config/presets.hpp"
#include "config/text.hpp"
#include "config/validate.hpp"

namespace lastcall::config {
namespace {

class Effects {
 public:
  Effects(Config const& config, Places const& places, Problems& warnings)
      : config_(config), places_(places), warnings_(warnings) {}

  void keys() {
    Admission const& admission = config_.admission;
    if (!admission.engine_request_limit && !admission.engine_wait_limit) {
      without("admission.engine_request_limit",
              {"admission.queue_limit", "admission.queue_timeout"});
    }
    if (!admission.http_api) {
      without("admission.http_api", {"admission.http_token"});
    }
    if (!config_.lifecycle.enabled) {
      without("lifecycle.enabled", {"lifecycle.listen", "lifecycle.token"});
    }
    if (!config_.ingress.enabled) {
      without("ingress", {"ingress.control_paths.token", "ingress.control_paths.certificates"});
    }
    IngressTls const& tls = config_.ingress.tls;
    if (!tls.cert_file) {
      without("ingress.tls.cert_file", {"ingress.tls.min_version", "ingress.tls.ciphers"});
    }
    if (!tls.client_ca_file) {
      without("ingress.tls.client_ca_file", {"ingress.tls.client_certificates"});
    }
    ControlPaths const& control = config_.ingress.control_paths;
    if (!control.token && control.certificates.empty()) {
      for (std::string_view const key :
           {"ingress.control_paths.access", "ingress.control_paths.status_access"}) {
        bool const is_status = key.ends_with("status_access");
        if (places_.contains(key) &&
            (is_status ? control.status_access : control.access) == ControlAccess::operators) {
          warn(key,
               {"without ingress.control_paths.token or certificates nobody is an operator: all "
                "such requests are refused"});
        }
      }
    }
    if (!config_.events.nats.url) {
      without("events.nats.url", {"events.nats.subject"});
    }
  }

  void engine() {
    EngineProfile const engine = resolve_engine(config_);
    if (config_.ingress.enabled && config_.engine.kind == EngineKind::custom &&
        !config_.ingress.upstream && !config_.engine.url) {
      warn("ingress.upstream", {"not set: ", to_text(engine.upstream),
                                " is assumed to be the "
                                "engine"});
    }
    Admission const& admission = config_.admission;
    bool const has_gauge = engine.gauges && !engine.gauges->kv_usage.empty();
    if (admission.active_decode_blocks_threshold && !has_gauge && config_.ingress.enabled) {
      warn("admission.active_decode_blocks_threshold",
           {"without engine.metrics.kv_usage it has no effect, unless an SDK reports load"});
    }
    if (admission.active_decode_blocks_threshold && has_gauge &&
        admission.load_max_age < config_.health.interval) {
      warn("admission.load_max_age",
           {to_text(admission.load_max_age), " is below health.interval (",
            to_text(config_.health.interval),
            "), in which the engine's gauge is read: it is too old most of the time"});
    }
  }

  void endpoints() {
    ProxyTimeouts const& timeouts = config_.ingress.timeouts;
    std::size_t const count = config_.ingress.enabled ? config_.endpoints.size() : 0;
    for (std::size_t i = 0; i < count; ++i) {
      EndpointSettings const& endpoint = config_.endpoints[i];
      std::string const key = joined({"endpoints[", std::to_string(i), "]."});
      bool const is_known = std::find(kEndpointNames.begin(), kEndpointNames.end(),
                                      endpoint.name) != kEndpointNames.end();
      if (!endpoint.name.starts_with('/') && !is_known) {
        warn(joined({key, "name"}),
             {"'", endpoint.name,
              "' is not an endpoint of the ingress: without an SDK that registers it, it has no "
              "effect"});
      }
      if (endpoint.defer_cancel && !timeouts.first_byte && !timeouts.total) {
        warn(joined({key, "cancel.defer_until_first_byte"}),
             {"without ingress.timeouts.first_byte or total the engine keeps such a request for ",
              to_text(kLeftToEngine), " at most"});
      }
    }
  }

 private:
  using Parts = std::initializer_list<std::string_view>;

  static std::string joined(Parts parts) {
    std::string whole;
    for (std::string_view const part : parts) {
      whole += part;
    }
    return whole;
  }

  void warn(std::string_view key, Parts parts) {
    warnings_.push_back({nearest_place(places_, key), std::string(key), joined(parts)});
  }

  void without(std::string_view other, Parts keys) {
    for (std::string_view const key : keys) {
      if (places_.contains(key)) {
        warn(key, {"without ", other, " it has no effect"});
      }
    }
  }

  Config const& config_;
  Places const& places_;
  Problems& warnings_;
};

}  // namespace

void validate_effects(Config const& config, Places const& places, Problems& warnings) {
  Effects effects(config, places, warnings);
  effects.keys();
  effects.engine();
  effects.endpoints();
}

}  // namespace lastcall::config
