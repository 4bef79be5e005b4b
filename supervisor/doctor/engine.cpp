// Checks that the engine, its shim and the registries are where the configuration says.
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/json_member.hpp"
#include "config/presets.hpp"
#include "supervisor/doctor/findings.hpp"
#include "supervisor/doctor/reach.hpp"

namespace lastcall::doctor {
namespace {

using Json = nlohmann::ordered_json;

/// Reads the supervisor's status, which knows more than a check from outside.
void ask_supervisor(Visit const& visit, Findings& findings) {
  Json const& status = visit.status;
  if (status.contains("engine") && status["engine"].value("shim_missing", false)) {
    findings.push_back({"engine",
                        "the engine is ready but no shim is connected, so nothing holds its stop "
                        "signal: start it as `lastcall-shim --socket " +
                            visit.loaded.config.ipc.socket + " -- COMMAND`"});
  }
  Json const& health = json::member(status, "health");
  std::string const verdict = json::text(json::member(health, "verdict"));
  if (verdict == "starting" || verdict == "unresponsive" || verdict == "dead" ||
      verdict == "wedged") {
    findings.push_back({"engine", "the engine is " + verdict + ": " +
                                      json::text(json::member(health, "reason")) +
                                      "; `lastcall status` shows each check"});
  }
}

void look_at_gauges(config::EngineGauges const& gauges, std::string const& kind,
                    Findings& findings) {
  auto const target = target_of(gauges.url);
  auto const answer = target ? get(*target) : std::nullopt;
  if (answer && answer->find(gauges.running) == std::string::npos) {
    findings.push_back({"engine", gauges.url + " has no " + gauges.running +
                                      ", so it is unknown what is in flight: start the "
                                      "engine with its metrics on, or set engine.kind (" +
                                      kind + ") or engine.metrics"});
  }
}

void look_at_engine(Visit const& visit, Findings& findings) {
  config::Config const& config = visit.loaded.config;
  config::EngineProfile const profile = config::resolve_engine(config);
  bool const is_known = config.engine.kind != config::EngineKind::custom || config.engine.url ||
                        config.ingress.enabled;
  if (!is_known) {
    if (!config.health.checks || config.health.checks->empty()) {
      findings.push_back({"engine",
                          "only the engine's process is known: set engine.kind (vllm, "
                          "sglang, trtllm, dynamo), engine.url or health.checks"});
    }
    return;
  }
  bool const will_be_started = visit.speaks == Speaks::no && !config.engine.command.empty();
  if (will_be_started || !profile.upstream_socket.empty() || profile.upstream.port == 0) {
    return;
  }
  Target const target{.host = profile.upstream.host, .port = profile.upstream.port};
  if (std::string const problem = connect_problem(target); !problem.empty()) {
    findings.push_back({"engine", "no engine at " + text_of(target) + " (" + problem +
                                      "): start it, or set engine.url to where it listens"});
  } else if (profile.gauges) {
    look_at_gauges(*profile.gauges, std::string(profile.name), findings);
  }
}

void look_at(std::string const& key, std::string const& url, Findings& findings) {
  auto const target = target_of(url);
  std::string const problem =
      target ? connect_problem(*target) : "not a URL with a host and a port";
  if (!problem.empty()) {
    findings.push_back({"registries", key + ": " + url + " cannot be reached (" + problem +
                                          "): correct it, or allow the connection"});
  }
}

struct RegistryLook {
  Visit const& visit;
  std::string const& name;
  Findings& findings;

  void operator()(config::EtcdRegistry const& etcd) const {
    for (std::string const& endpoint : etcd.endpoints) {
      look_at(name, endpoint, findings);
    }
  }
  void operator()(config::HttpRegistry const& http) const { look_at(name, http.url, findings); }
  void operator()(config::KubernetesRegistry const& kubernetes) const {
    if (::access(kubernetes.token_file.c_str(), R_OK) != 0) {
      findings.push_back({"registries", name + ": " + kubernetes.token_file +
                                            " cannot be read: set "
                                            "automountServiceAccountToken, or token_file"});
    }
  }
  void operator()(config::FileRegistry const& file) const {
    if (::access((existing_folder(file.directory) + "/").c_str(), W_OK | X_OK) != 0) {
      findings.push_back({"registries", name + ": " + file.directory +
                                            " cannot be written: mount it, or correct directory"});
    }
  }
  void operator()(config::IpcRegistry const&) const {}
};

}  // namespace

void examine_engine(Visit const& visit, Findings& findings) {
  if (visit.status.is_object()) {
    ask_supervisor(visit, findings);
  }
  look_at_engine(visit, findings);
}

void examine_registries(Visit const& visit, Findings& findings) {
  config::Config const& config = visit.loaded.config;
  for (config::Registry const& registry : config.discovery) {
    std::visit(RegistryLook{visit, registry.name, findings}, registry.kind);
  }
  if (!config.discovery.empty() &&
      !config::resolve_advertise(config, visit.environment("POD_IP"))) {
    findings.push_back({"registries",
                        "no address is configured for registries to publish: set "
                        "identity.advertise, or POD_IP from status.podIP"});
  }
  if (config.events.nats.url) {
    look_at("events.nats", *config.events.nats.url, findings);
  }
}

}  // namespace lastcall::doctor
