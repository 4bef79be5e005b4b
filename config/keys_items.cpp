// Rows of the keys inside lists: hooks, checks, registries, endpoints.
#include "config/keys.hpp"
#include "config/keys_bind.hpp"

namespace lastcall::config {
namespace {

using namespace std::chrono_literals;

Keys no_keys(auto& /*element*/) {
  return {};
}

Keys http_check_keys(HttpCheck& check) {
  return {{.path = "url",
           .slot = &check.url,
           .doc = "URL to GET; 2xx and 3xx are healthy.",
           .form = &kPlainHttpUrl,
           .required = true}};
}

Keys tcp_check_keys(TcpCheck& check) {
  return {{.path = "address",
           .slot = &check.address,
           .doc = "Address to connect to.",
           .range = Range{1, 65'535},
           .required = true}};
}

Keys exec_check_keys(ExecCheck& check) {
  return {{.path = "command",
           .slot = &check.command,
           .doc = "Command to run, without a shell; exit code 0 is healthy.",
           .form = &kArgument,
           .required = true}};
}

Keys etcd_keys(EtcdRegistry& etcd) {
  Keys keys{etcd_endpoints_key(etcd),
            {.path = "lease_ttl",
             .slot = &etcd.lease_ttl,
             .doc = "Lifetime of the lease without a keep-alive, in whole seconds.",
             .range = within(2s, 1h)}};
  add_etcd_client_keys(keys, etcd, "the environment variable `LASTCALL_ETCD_PASSWORD`");
  return keys;
}

Keys kubernetes_keys(KubernetesRegistry& kubernetes) {
  return {{.path = "services",
           .slot = &kubernetes.services,
           .doc = "Services whose EndpointSlices must stop listing this pod; if empty, every "
                  "slice that lists it.",
           .form = &kName},
          {.path = "readiness_gate",
           .slot = &kubernetes.readiness_gate,
           .doc = "Condition of the pod that is true while it is registered.",
           .form = &kQualifiedName,
           .unset = "no condition is written"},
          {.path = "serving_label",
           .slot = &kubernetes.serving_label,
           .doc = "Label of the pod that is \"true\" while it is registered and removed "
                  "afterwards.",
           .form = &kQualifiedName,
           .unset = "no label is written"},
          {.path = "after_others",
           .slot = &kubernetes.after_others,
           .doc = "Whether the condition and the label wait until every other registry lists "
                  "this instance."},
          {.path = "deletion_cost",
           .slot = &kubernetes.deletion_cost,
           .doc = "Keeps the pod's annotation controller.kubernetes.io/pod-deletion-cost at the "
                  "number of requests in flight, with at most one write per this time.",
           .range = within(1s, 1h),
           .unset = "the annotation is not written"},
          {.path = "event",
           .slot = &kubernetes.event,
           .doc = "Whether the outcome of each stop becomes an Event of the pod."},
          {.path = "api_server",
           .slot = &kubernetes.api_server,
           .doc = "URL of the API server.",
           .form = &kHttpUrl,
           .unset = "the in-cluster address"},
          {.path = "token_file",
           .slot = &kubernetes.token_file,
           .doc = "File with the service account's token.",
           .form = &kAbsolutePath},
          {.path = "ca_file",
           .slot = &kubernetes.ca_file,
           .doc = "File with the API server's certificate authority.",
           .form = &kAbsolutePath}};
}

Keys http_registry_keys(HttpRegistry& http) {
  Keys keys{{.path = "url",
             .slot = &http.url,
             .doc = "URL that registrations and deregistrations are posted to.",
             .form = &kHttpUrl,
             .required = true},
            {.path = "deregister_url",
             .slot = &http.deregister_url,
             .doc = "URL that deregistrations are posted to instead.",
             .form = &kHttpUrl,
             .unset = "`url`"},
            {.path = "body",
             .slot = &http.body,
             .doc = "Body to post; `${action}`, `${instance_id}`, `${instance_hex}`, "
                    "`${namespace}`, `${component}`, `${endpoint}`, `${advertise}`, `${model}` "
                    "and `${pod_uid}` stand for their values, escaped as in a JSON string.",
             .form = &kHttpBody,
             .unset = "a JSON object with all of these"},
            {.path = "headers",
             .slot = &http.headers,
             .doc = "Further headers, each `Name: value`.",
             .form = &kHttpHeader,
             .secret = true},
            {.path = "token_file",
             .slot = &http.token_file,
             .doc = "File whose first line is sent as the bearer token; it is read again for "
                    "each request.",
             .form = &kAbsolutePath,
             .unset = "no token is sent"},
            {.path = "timeout",
             .slot = &http.timeout,
             .doc = "Longest wait for an answer.",
             .range = within(10ms, 10min)}};
  add_client_tls_keys(keys, http);
  return keys;
}

Keys file_registry_keys(FileRegistry& file) {
  return {{.path = "directory",
           .slot = &file.directory,
           .doc = "Directory in which each registered instance has one file.",
           .form = &kAbsolutePath,
           .required = true}};
}

}  // namespace

Keys keys_of(Hook& hook) {
  return {{.path = "name",
           .slot = &hook.name,
           .doc = "Name in logs and in the report.",
           .form = &kName,
           .required = true},
          {.path = "command",
           .slot = &hook.command,
           .doc = "Command to run, without a shell. Its output is logged, up to 64 KiB of records.",
           .form = &kArgument,
           .required = true},
          {.path = "timeout",
           .slot = &hook.timeout,
           .doc = "Time after which the hook is killed; all hooks together have 2s.",
           .range = within(10ms, 1h)}};
}

Keys keys_of(HealthCheck& check) {
  auto& kind = check.kind;
  return {
      {.path = "name",
       .slot = &check.name,
       .doc = "Name in logs, metrics and `?verbose` probes.",
       .form = &kName,
       .required = true},
      {.path = "timeout",
       .slot = &check.timeout,
       .doc = "Longest wait for an answer.",
       .range = within(10ms, 10min)},
      {.path = "failure_threshold",
       .slot = &check.failure_threshold,
       .doc = "Number of consecutive definite failures of this check that is fatal.",
       .range = Range{1, 1'000},
       .unset = "`health.failure_threshold`"},
      {.path = "",
       .slot =
           OneOf{{alternative<HttpCheck>(kind, "http", "Sends a GET to a URL.", http_check_keys),
                  alternative<TcpCheck>(kind, "tcp", "Opens a connection.", tcp_check_keys),
                  alternative<ExecCheck>(kind, "exec",
                                         "Runs a command in the supervisor's "
                                         "container.",
                                         exec_check_keys),
                  alternative<IpcCheck>(kind, "ipc",
                                        "Requests an answer from the SDK "
                                        "inside the engine.",
                                        no_keys<IpcCheck>),
                  alternative<ProgressCheck>(kind, "progress",
                                             "Watches whether bytes move; needs "
                                             "`health.stalled_after`.",
                                             no_keys<ProgressCheck>)},
                 [&kind] { return kind.index(); }},
       .doc = "Kind of the check."}};
}

Keys keys_of(Registry& registry) {
  auto& kind = registry.kind;
  return {
      {.path = "name",
       .slot = &registry.name,
       .doc = "Name in logs and in the report.",
       .form = &kName,
       .unset = "the kind's name"},
      {.path = "",
       .slot = OneOf{{alternative<EtcdRegistry>(kind, "etcd",
                                                "Writes keys to etcd v3, in Dynamo's "
                                                "layout.",
                                                etcd_keys),
                      alternative<KubernetesRegistry>(
                          kind, "kubernetes",
                          "Waits for the EndpointSlices of this pod's services.", kubernetes_keys),
                      alternative<HttpRegistry>(kind, "http", "Posts to a URL, with retries.",
                                                http_registry_keys),
                      alternative<FileRegistry>(kind, "file", "Writes files in a directory.",
                                                file_registry_keys),
                      alternative<IpcRegistry>(kind, "ipc",
                                               "Requests that every process with an SDK deregister "
                                               "itself.",
                                               no_keys<IpcRegistry>)},
                     [&kind] { return kind.index(); }},
       .doc = "Kind of the registry."}};
}

Keys keys_of(EndpointSettings& endpoint) {
  return {{.path = "name",
           .slot = &endpoint.name,
           .doc = "The endpoint's name, or an HTTP path.",
           .form = &kEndpoint,
           .required = true},
          {.path = "graceful_shutdown",
           .slot = &endpoint.graceful_shutdown,
           .doc = "Whether a drain waits for its requests; if `false`, they are handed off."},
          {.path = "cancel",
           .slot = Section{},
           .doc = "What the ingress does when a client of this endpoint hangs up."},
          {.path = "cancel.defer_until_first_byte",
           .slot = &endpoint.defer_cancel,
           .doc = "Whether the engine keeps a request whose client has hung up until its first "
                  "byte, for engines that must not be interrupted earlier. The request counts as "
                  "cancelled at once. Without `ingress.timeouts.first_byte` or `total` the "
                  "engine keeps it for at most 5m."}};
}

}  // namespace lastcall::config
