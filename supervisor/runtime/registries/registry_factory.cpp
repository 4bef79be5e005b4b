#include "supervisor/runtime/registries/registry_factory.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "config/environment.hpp"
#include "config/text.hpp"
#include "discovery/etcd_registry.hpp"
#include "discovery/file_registry.hpp"
#include "discovery/http_registry.hpp"
#include "discovery/in_cluster.hpp"
#include "discovery/secret_file.hpp"

namespace lastcall::runtime {
namespace {

std::string environment(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// `registry` has the keys of TLS.
discovery::HttpTls tls_of(auto const& registry) {
  return {.ca_file = registry.ca_file.value_or(""),
          .cert_file = registry.cert_file.value_or(""),
          .key_file = registry.key_file.value_or("")};
}

discovery::EtcdSettings settings_of(config::EtcdRegistry const& etcd) {
  discovery::EtcdSettings settings;
  for (std::string const& endpoint : etcd.endpoints) {
    settings.access.servers.push_back(discovery::server_at(endpoint));
  }
  settings.lease_ttl = std::chrono::duration_cast<std::chrono::seconds>(etcd.lease_ttl);
  settings.access.user = etcd.username.value_or("");
  settings.access.password_file = etcd.password_file.value_or("");
  settings.access.password = environment("LASTCALL_ETCD_PASSWORD");
  settings.tls = tls_of(etcd);
  return settings;
}

discovery::HttpRegistrySettings settings_of(config::HttpRegistry const& http) {
  discovery::HttpRegistrySettings settings{
      .register_at = discovery::server_at(http.url),
      .deregister_at = discovery::server_at(http.deregister_url.value_or(http.url)),
      .body = http.body.value_or(""),
      .headers = {},
      .token_file = http.token_file.value_or(""),
      .timeout = http.timeout,
      .tls = tls_of(http)};
  for (std::string const& header : http.headers) {
    settings.headers.push_back(config::header_of(header));
  }
  return settings;
}

/// Without a pod's uid, two instances on one host differ by their socket's path, which stays the
/// same when a supervisor restarts.
std::string pod_identity(config::Config const& config) {
  char const* const uid = std::getenv("LASTCALL_POD_UID");
  return uid == nullptr || *uid == '\0' ? discovery::host_identity() + " " + config.ipc.socket
                                        : uid;
}

MadeRegistry make_kubernetes(boost::asio::any_io_executor const& executor,
                             config::KubernetesRegistry const& kubernetes,
                             RegistryHooks const& hooks) {
  std::string const url =
      kubernetes.api_server.value_or(discovery::api_server_url(config::process_environment()));
  if (url.empty()) {
    return {nullptr, "no API server is known: set api_server, or KUBERNETES_SERVICE_HOST"};
  }
  discovery::KubernetesSettings settings;
  settings.api_server = discovery::server_at(url);
  settings.pod = {
      .space = discovery::own_namespace(config::process_environment(), kubernetes.token_file),
      .name = environment("POD_NAME"),
      .uid = environment("LASTCALL_POD_UID")};
  if (settings.pod.name.empty() || settings.pod.space.empty()) {
    return {nullptr, "this pod is not known: set POD_NAME and POD_NAMESPACE"};
  }
  settings.services = kubernetes.services;
  settings.readiness_gate = kubernetes.readiness_gate.value_or("");
  settings.serving_label = kubernetes.serving_label.value_or("");
  settings.after_others = kubernetes.after_others;
  settings.token_file = kubernetes.token_file;
  settings.tls.ca_file = kubernetes.ca_file;
  settings.summary = kubernetes.event ? hooks.summary : nullptr;
  settings.on_deletion = hooks.on_deletion;
  settings.deletion_cost = {.every = kubernetes.deletion_cost.value_or(discovery::Duration{0}),
                            .in_flight = hooks.in_flight,
                            .on_failure = hooks.on_cost_failed};
  // Without a gate or a label, the token would be needed only when the instance leaves.
  std::string warning = discovery::read_secret(settings.token_file)
                            ? ""
                            : discovery::why_no_service_account(settings.token_file);
  return {discovery::make_kubernetes_registry(executor, std::move(settings)), "",
          std::move(warning)};
}

}  // namespace

bool asks_sdks_unnamed(config::Config const& config) {
  return std::none_of(config.discovery.begin(), config.discovery.end(), [](auto const& registry) {
    return std::holds_alternative<config::IpcRegistry>(registry.kind);
  });
}

discovery::Instance instance_of(config::Config const& config,
                                std::optional<std::string> const& advertise) {
  config::Identity const& identity = config.identity;
  std::string const pod = pod_identity(config);
  return {.dynamo_namespace = identity.dynamo_namespace,
          .component = identity.component,
          .endpoint = identity.endpoint,
          .id = discovery::instance_id(pod, identity.endpoint),
          .advertise = advertise.value_or(""),
          .model = identity.model,
          .pod_uid = pod};
}

MadeRegistry make_registry(boost::asio::any_io_executor const& executor,
                           config::Registry const& registry, discovery::Instance const& instance,
                           RegistryHooks const& hooks) {
  if (auto const* kubernetes = std::get_if<config::KubernetesRegistry>(&registry.kind)) {
    return make_kubernetes(executor, *kubernetes, hooks);
  }
  if (instance.advertise.empty()) {
    return {nullptr, "no address to publish: set identity.advertise, or POD_IP"};
  }
  if (auto const* file = std::get_if<config::FileRegistry>(&registry.kind)) {
    return {discovery::make_file_registry(executor, file->directory, instance), ""};
  }
  if (auto const* etcd = std::get_if<config::EtcdRegistry>(&registry.kind)) {
    return {discovery::make_etcd_registry(executor, settings_of(*etcd), instance), ""};
  }
  if (auto const* http = std::get_if<config::HttpRegistry>(&registry.kind)) {
    return {discovery::make_http_registry(executor, settings_of(*http), instance), ""};
  }
  return {nullptr, "it is not made here"};
}

discovery::NatsSettings nats_settings(config::NatsEvents const& nats, std::string const& instance) {
  return {.url = nats.url.value_or(""),
          .subject = nats.subject,
          .client_name = "lastcall-" + instance,
          .user = nats.username.value_or(""),
          .password_file = nats.password_file.value_or(""),
          .password = environment("LASTCALL_NATS_PASSWORD"),
          .credentials_file = nats.credentials_file.value_or(""),
          .tls = tls_of(nats)};
}

}  // namespace lastcall::runtime
