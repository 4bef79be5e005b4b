#include "config/validate.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "config/presets.hpp"
#include "config/text.hpp"
#include "core/budgets.hpp"

namespace lastcall::config {
namespace {

constexpr Duration kHooksTogether = lifecycle::kAcksAndHooksCap;

class Validator {
 public:
  Validator(Config const& config, Places const& places, Findings findings)
      : config_(config), places_(places), findings_(findings) {}

  void names() {
    unique("health.checks", config_.health.checks.value_or(std::vector<HealthCheck>{}));
    unique("cleanup.hooks", config_.cleanup.hooks);
    unique("discovery", config_.discovery);
    unique("endpoints", config_.endpoints);
  }

  void listeners() {
    struct Listener {
      std::string_view key;
      Address const& address;
      bool is_used;
    };
    std::vector<Listener> const all{
        {"probes.listen", config_.probes.listen, true},
        {"lifecycle.listen", config_.lifecycle.listen,
         config_.lifecycle.enabled && config_.lifecycle.http},
        {"ingress.listen", config_.ingress.listen, config_.ingress.enabled}};
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (all[i].is_used && all[j].is_used && overlap(all[i].address, all[j].address)) {
          error(all[i].key, to_text(all[i].address) + " overlaps " + std::string(all[j].key) +
                                ", expected an address of its own");
        }
      }
    }
    if (given("ingress") && !config_.ingress.enabled && !given("ingress.enabled")) {
      warn("ingress", "it is empty: the ingress is off; `ingress: {}` turns it on");
    }
    Address const upstream = resolve_engine(config_).upstream;
    if (config_.ingress.enabled && resolve_engine(config_).upstream_socket.empty() &&
        is_loopback(upstream.host) && upstream.port == config_.ingress.listen.port) {
      error("ingress.upstream", to_text(upstream) +
                                    " is the ingress itself, expected the engine's address, with "
                                    "another port than ingress.listen");
    }
  }

  void metrics() {
    std::string const url = resolve_engine(config_).metrics_url;
    std::optional<Url> const parsed = parse_url(url);
    Address const& own = config_.probes.listen;
    if (parsed && parsed->address.port == own.port &&
        (is_loopback(parsed->address.host) || parsed->address.host == own.host)) {
      error(config_.engine.metrics.url ? "engine.metrics.url" : "engine.url",
            url + " is lastcall's own listener (probes.listen), expected the engine's");
    }
    if (config_.probes.merge_engine_metrics && url.empty()) {
      warn("probes.merge_engine_metrics",
           "without engine.metrics.url or an engine.kind that has metrics it has no effect");
    }
  }

  void sockets() {
    std::string const& engine = config_.ipc.socket;
    std::string const& admin = config_.ipc.admin_socket;
    if (engine == admin) {
      error("ipc.admin_socket", "the same path as ipc.socket, expected another");
    } else if (engine.substr(0, engine.rfind('/')) == admin.substr(0, admin.rfind('/'))) {
      warn("ipc.admin_socket",
           "in the directory of ipc.socket, where the engine can reach it; expected a directory "
           "that is not mounted into the engine's container");
    }
  }

  void registries() {
    for (std::size_t i = 0; i < config_.discovery.size(); ++i) {
      std::string const key = "discovery[" + std::to_string(i) + "].";
      Registry const& registry = config_.discovery[i];
      if (auto const* etcd = std::get_if<EtcdRegistry>(&registry.kind)) {
        this->etcd(key + "etcd", *etcd);
      } else if (auto const* http = std::get_if<HttpRegistry>(&registry.kind)) {
        certificate(key + "http", http->cert_file, http->key_file);
      }
    }
    ingress_tls(config_.ingress.tls);
    NatsEvents const& nats = config_.events.nats;
    certificate("events.nats", nats.cert_file, nats.key_file);
    password("events.nats", nats.username, nats.password_file);
  }

  void etcd(std::string const& key, EtcdRegistry const& etcd) {
    if (etcd.endpoints.empty()) {
      error(key + ".endpoints", "an empty list, expected at least one server");
    }
    if (etcd.lease_ttl.count() % 1'000 != 0) {
      error(key + ".lease_ttl",
            to_text(etcd.lease_ttl) + ", expected whole seconds, as etcd counts");
    }
    certificate(key, etcd.cert_file, etcd.key_file);
    password(key, etcd.username, etcd.password_file);
  }

  void certificate(std::string const& key, std::optional<std::string> const& cert_file,
                   std::optional<std::string> const& key_file) {
    if (cert_file.has_value() != key_file.has_value()) {
      error(key + (cert_file ? ".cert_file" : ".key_file"),
            "set alone, expected both cert_file and key_file");
    }
  }

  /// Settings that ask for certificates must not be ignored silently.
  void ingress_tls(IngressTls const& tls) {
    certificate("ingress.tls", tls.cert_file, tls.key_file);
    if (tls.client_ca_file && !tls.cert_file && !tls.key_file) {
      error("ingress.tls.client_ca_file",
            "set without cert_file and key_file, expected both: clients speak plain HTTP");
    }
    if (!config_.ingress.control_paths.certificates.empty() && !tls.client_ca_file) {
      error("ingress.control_paths.certificates",
            "set without ingress.tls.client_ca_file: no certificate is requested from clients");
    }
    bool const has_new = std::any_of(tls.ciphers.begin(), tls.ciphers.end(),
                                     [](std::string const& c) { return c.starts_with("TLS_"); });
    if (tls.ciphers.empty()) {
      error("ingress.tls.ciphers", "an empty list, expected at least one cipher");
    } else if (tls.min_version == TlsVersion::v1_3 && !has_new) {
      error("ingress.tls.ciphers",
            "no cipher of TLS 1.3, which ingress.tls.min_version requires, expected one that "
            "begins with TLS_");
    }
  }

  void password(std::string const& key, std::optional<std::string> const& username,
                std::optional<std::string> const& password_file) {
    if (password_file && !username) {
      error(key + ".password_file", "set alone, expected username too");
    }
  }

  bool never_stalls() const {
    std::optional<EngineGauges> const gauges = resolve_engine(config_).gauges;
    std::optional<Duration> const limit = config_.health.stalled_after;
    return limit ? *limit == Duration{0} : !(gauges && gauges->tokens_are_live);
  }

  void checks() {
    Health const& health = config_.health;
    Duration const stalled = health.stalled_after.value_or(Duration{0});
    if (stalled > Duration{0} && stalled < Duration{1'000}) {
      error("health.stalled_after",
            to_text(stalled) + " is too short, expected 0s (never) or at least 1s");
    }
    std::vector<HealthCheck> const checks = resolve_engine(config_).checks;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      HealthCheck const& check = checks[i];
      std::string const key = "health.checks[" + std::to_string(i) + "]";
      if (check.timeout > health.interval) {
        warn(key + ".timeout", to_text(check.timeout) + " is longer than health.interval (" +
                                   to_text(health.interval) +
                                   "): rounds are skipped while a check is under way");
      }
      if (check.timeout >= health.unresponsive_after) {
        warn(key + ".timeout",
             to_text(check.timeout) + " is not below health.unresponsive_after (" +
                 to_text(health.unresponsive_after) + "): the first timeout is fatal");
      }
      bool const is_progress = std::holds_alternative<ProgressCheck>(check.kind);
      if (is_progress && never_stalls()) {
        warn(key + ".progress", "without health.stalled_after it never fails");
      }
      if (is_progress && given(key + ".failure_threshold")) {
        warn(key + ".failure_threshold",
             "has no effect on a progress check: health.stalled_after is its limit");
      }
    }
    bool const connects = std::any_of(checks.begin(), checks.end(), [](HealthCheck const& check) {
      return std::holds_alternative<HttpCheck>(check.kind) ||
             std::holds_alternative<TcpCheck>(check.kind);
    });
    if (config_.lifecycle.enabled && !connects) {
      warn("lifecycle.enabled",
           "without an http or tcp check, another engine is recognised only by the time that has "
           "passed");
    }
    if (config_.lifecycle.enabled && config_.lifecycle.http && !config_.lifecycle.token) {
      warn("lifecycle.token",
           "without a token every pod that reaches lifecycle.listen can take this replica out of "
           "service; expected a token, or lifecycle.http: false and hooks that run lastcall-shim "
           "--prestop engine");
    }
    if (config_.admission.http_api && !config_.admission.http_token) {
      warn("admission.http_token",
           "without a token every pod that reaches probes.listen can set thresholds, and with 0 "
           "this replica refuses every request; expected a token, or admission.http_api: false");
    }
    EngineMetrics const& metrics = config_.engine.metrics;
    if (metrics.url && !resolve_engine(config_).gauges) {
      warn("engine.metrics.url", "without engine.metrics.running the gauges are not read");
    }
  }

  void budgets(PodGrace const& grace) {
    lifecycle::BudgetPlan const plan =
        lifecycle::derive_budgets(shutdown_settings(config_), grace.value);
    reserve(plan.budgets);
    for (std::string const& text : plan.warnings) {
      std::size_t const colon = text.find(": ");
      warn(text.substr(0, colon), text.substr(colon + 2));
    }
    for (std::size_t i = 0; i < config_.cleanup.hooks.size(); ++i) {
      Hook const& hook = config_.cleanup.hooks[i];
      if (hook.timeout > kHooksTogether) {
        warn("cleanup.hooks[" + std::to_string(i) + "].timeout",
             to_text(hook.timeout) + " is more than all hooks have together (" +
                 to_text(kHooksTogether) + ")");
      }
    }
  }

 private:
  /// Checks that the time reserved for phase 3 is enough for its work.
  void reserve(lifecycle::Budgets const& b) {
    bool const has_hooks = !config_.cleanup.hooks.empty();
    Duration const need = lifecycle::cleanup_need(b, has_hooks);
    if (b.reserve >= need) {
      return;
    }
    Duration const raised = lifecycle::with_room_for_cleanup(b, has_hooks).reserve;
    std::string const before =
        has_hooks
            ? "cleanup hooks (" + to_text(kHooksTogether) + ")" +
                  (b.disconnects > Duration{0} ? ", disconnects (" + to_text(b.disconnects) + ")"
                                               : "") +
                  " and the engine's stop"
            : "the engine's stop";
    warn("shutdown.cleanup_reserve",
         to_text(b.reserve) + " is less than " + before + " (" + to_text(2 * b.kill_margin) +
             ") can use, " + to_text(need) + " in all: " +
             (raised > b.reserve ? "the drain ends " + to_text(raised - b.reserve) + " earlier"
                                 : "") +
             (raised > b.reserve && raised < need ? ", and " : "") +
             (raised < need ? "hooks get " + to_text(need - raised) + " less" : ""));
  }

  static bool overlap(Address const& a, Address const& b) {
    auto const is_any = [](std::string const& host) { return host == "::" || host == "0.0.0.0"; };
    return a.port != 0 && a.port == b.port &&
           (a.host == b.host || is_any(a.host) || is_any(b.host));
  }

  template <class Element>
  void unique(std::string const& list, std::vector<Element> const& elements) {
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      std::string const& name = elements[i].name;
      if (!name.empty() && !names.insert(name).second) {
        error(list + "[" + std::to_string(i) + "].name",
              "'" + name + "' is used already, expected another name");
      }
    }
  }

  bool given(std::string_view key) const { return places_.contains(key); }

  void error(std::string_view key, std::string text) {
    findings_.errors.push_back({nearest_place(places_, key), std::string(key), std::move(text)});
  }
  void warn(std::string_view key, std::string text) {
    findings_.warnings.push_back({nearest_place(places_, key), std::string(key), std::move(text)});
  }

  Config const& config_;
  Places const& places_;
  Findings findings_;
};

}  // namespace

void validate(Config const& config, Places const& places, PodGrace const& grace,
              Findings findings) {
  Validator validator(config, places, findings);
  validator.names();
  validator.listeners();
  validator.metrics();
  validator.sockets();
  validator.registries();
  validator.checks();
  validate_effects(config, places, findings.warnings);
  validator.budgets(grace);
}

}  // namespace lastcall::config
