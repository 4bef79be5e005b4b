#include "inject/pod_parts.hpp"

namespace lastcall::inject {
namespace {

constexpr char const* kSocket = "/run/lastcall/lastcall.sock";

Value named(std::string_view name, Member rest) {
  return Value::map({{"name", name}, std::move(rest)});
}

Value mount(std::string_view name, std::string_view path, bool read_only = false) {
  std::vector<Member> members{{"name", name}, {"mountPath", path}};
  if (read_only) {
    members.push_back({"readOnly", Value::boolean(true)});
  }
  return Value::map(std::move(members));
}

Value from_field(std::string_view name, std::string_view path) {
  return named(
      name, {"valueFrom",
             Value::map({{"fieldRef", Value::map({{"apiVersion", "v1"}, {"fieldPath", path}})}})});
}

Value port(std::string_view name, std::int64_t number) {
  return Value::map(
      {{"name", name}, {"containerPort", Value::number(number)}, {"protocol", "TCP"}});
}

Value quantities(Pairs const& pairs, char const* memory) {
  std::vector<Member> members;
  for (auto const& [name, amount] : pairs) {
    members.push_back({name, amount == "auto" ? std::string(memory) : amount});
  }
  return Value::map(std::move(members));
}

/// Adds only the parts that are set, as a chart leaves out empty ones.
void add_resources(std::vector<Member>& members, Resources const& resources, char const* memory) {
  std::vector<Member> parts;
  if (!resources.requests.empty()) {
    parts.push_back({"requests", quantities(resources.requests, memory)});
  }
  if (!resources.limits.empty()) {
    parts.push_back({"limits", quantities(resources.limits, memory)});
  }
  if (!parts.empty()) {
    members.push_back({"resources", Value::map(std::move(parts))});
  }
}

std::vector<Member> begin_container(std::string_view name, std::string const& image,
                                    std::string const& pull_policy) {
  std::vector<Member> members{{"name", name}, {"image", image}};
  if (!pull_policy.empty()) {
    members.push_back({"imagePullPolicy", pull_policy});
  }
  return members;
}

Value security(PodPlan const& plan) {
  return Value::map({{"allowPrivilegeEscalation", Value::boolean(false)},
                     {"readOnlyRootFilesystem", Value::boolean(true)},
                     {"runAsNonRoot", Value::boolean(true)},
                     {"runAsUser", Value::number(plan.user)},
                     {"capabilities", Value::map({{"drop", Value::list({"ALL"})}})},
                     {"seccompProfile", Value::map({{"type", "RuntimeDefault"}})}});
}

struct Times {
  std::int64_t period;
  std::int64_t timeout;
  std::int64_t failures;
};

Value probe(std::string_view path, Value port_of_it, Times times) {
  return Value::map(
      {{"httpGet",
        Value::map({{"path", path}, {"port", std::move(port_of_it)}, {"scheme", "HTTP"}})},
       {"periodSeconds", Value::number(times.period)},
       {"timeoutSeconds", Value::number(times.timeout)},
       {"failureThreshold", Value::number(times.failures)}});
}

Value hook(std::string_view program, std::string_view whose) {
  Value const command = Value::list({program, "--prestop", whose, "--socket", kSocket});
  return Value::map({{"exec", Value::map({{"command", command}})}});
}

Value sidecar_args(PodPlan const& plan) {
  std::vector<Value> words{"serve"};
  if (!plan.config.empty()) {
    words.insert(words.end(), {"--config", "/etc/lastcall/lastcall.yaml"});
  }
  words.insert(words.end(), plan.words.begin(), plan.words.end());
  return Value::list(std::move(words));
}

Value sidecar_env(PodPlan const& plan) {
  std::vector<Value> env{
      named(kGraceVariable, {"value", std::to_string(plan.pod_grace)}),
      from_field("LASTCALL_POD_UID", "metadata.uid"), from_field("POD_NAME", "metadata.name"),
      from_field("POD_NAMESPACE", "metadata.namespace"), from_field("POD_IP", "status.podIP")};
  for (auto const& [name, value] : plan.pod.env) {
    env.push_back(named(name, {"value", value}));
  }
  return Value::list(std::move(env));
}

Value sidecar_mounts(PodPlan const& plan) {
  std::vector<Value> mounts;
  if (!plan.config.empty()) {
    mounts.push_back(mount("lastcall-config", "/etc/lastcall", true));
  }
  mounts.push_back(mount("lastcall-socket", kSocketFolder));
  mounts.push_back(mount("lastcall-admin", "/run/lastcall-admin"));
  mounts.push_back(mount("lastcall-tmp", "/tmp"));
  return Value::list(std::move(mounts));
}

Value sidecar_ports(PodPlan const& plan) {
  std::vector<Value> ports{port("lastcall", kProbePort)};
  if (plan.ingress_port) {
    ports.push_back(port("ingress", *plan.ingress_port));
  }
  return Value::list(std::move(ports));
}

}  // namespace

Value installer(PodPlan const& plan) {
  std::vector<Member> members =
      begin_container(kInstaller, plan.pod.shim_image, plan.pod.shim_pull_policy);
  members.push_back({"args", Value::list({"--install", kShimFolder})});
  add_resources(members, plan.pod.install, "32Mi");
  members.push_back({"securityContext", security(plan)});
  members.push_back({"volumeMounts", Value::list({mount("lastcall-bin", kShimFolder)})});
  return Value::map(std::move(members));
}

Value sidecar(PodPlan const& plan) {
  std::vector<Member> members = begin_container(kSidecar, plan.pod.image, plan.pod.pull_policy);
  if (plan.is_native) {
    members.push_back({"restartPolicy", "Always"});
  }
  members.insert(members.end(), {{"args", sidecar_args(plan)},
                                 {"env", sidecar_env(plan)},
                                 {"ports", sidecar_ports(plan)},
                                 {"startupProbe", probe("/startupz", kSidecar, {1, 1, 30})},
                                 {"livenessProbe", probe("/livez", kSidecar, {5, 2, 3})},
                                 {"readinessProbe", probe("/readyz", kSidecar, {2, 1, 1})}});
  if (plan.is_prestop) {
    members.push_back(
        {"lifecycle", Value::map({{"preStop", hook("/usr/bin/lastcall-shim", "supervisor")}})});
  }
  members.push_back({"terminationMessagePolicy", "FallbackToLogsOnError"});
  add_resources(members, plan.pod.sidecar, plan.ingress_port ? "1Gi" : "128Mi");
  members.push_back({"securityContext", security(plan)});
  members.push_back({"volumeMounts", sidecar_mounts(plan)});
  return Value::map(std::move(members));
}

std::vector<Value> volumes(PodPlan const& plan) {
  std::vector<Value> all;
  if (!plan.config.empty()) {
    Value const reference =
        Value::map({{"fieldPath", "metadata.annotations['lastcall.dev/config']"}});
    Value const item = Value::map({{"path", "lastcall.yaml"}, {"fieldRef", reference}});
    all.push_back(
        named("lastcall-config", {"downwardAPI", Value::map({{"items", Value::list({item})}})}));
  }
  for (char const* const name :
       {"lastcall-bin", "lastcall-socket", "lastcall-admin", "lastcall-tmp"}) {
    all.push_back(named(name, {"emptyDir", Value::map({})}));
  }
  return all;
}

std::vector<std::string> lacking_secrets(PodPlan const& plan, Node const* own) {
  std::vector<std::string> lacking;
  for (std::string const& name : plan.pod.pull_secrets) {
    if (find_named(own, name) == nullptr) {
      lacking.push_back(name);
    }
  }
  return lacking;
}

std::vector<Value> pull_secrets(std::vector<std::string> const& names) {
  std::vector<Value> secrets;
  for (std::string const& name : names) {
    secrets.push_back(Value::map({{"name", name}}));
  }
  return secrets;
}

std::vector<Value> engine_env(PodPlan const& plan) {
  std::vector<Value> env{named(kGraceVariable, {"value", std::to_string(plan.pod_grace)})};
  if (plan.is_prestop) {
    env.push_back(named(kSocketVariable, {"value", kSocket}));
  }
  return env;
}

std::vector<Value> engine_mounts() {
  return {mount("lastcall-bin", kShimFolder, true), mount("lastcall-socket", kSocketFolder)};
}

std::vector<Value> shim_words(PodPlan const& plan) {
  return {kShim, "--socket", kSocket, "--grace", plan.grace, "--"};
}

Value engine_hook() {
  return hook(kShim, "engine");
}

/// The liveness probe waits for this one, so an engine may load for as long as it needs.
Value engine_startup_probe() {
  return probe("/engine/startupz", Value::number(kProbePort), {2, 1, 43'200});
}

/// The sidecar answers it for the engine: an engine that hangs only for a moment is not restarted.
Value engine_liveness_probe() {
  return probe("/engine/livez", Value::number(kProbePort), {1, 2, 3});
}

}  // namespace lastcall::inject
