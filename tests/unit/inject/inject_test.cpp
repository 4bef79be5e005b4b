#include "inject/inject.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/inject/support.hpp"

namespace lastcall::inject {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(Inject, The_shim_goes_before_the_engines_own_words) {
  EXPECT_THAT(injected(kDeployment),
              HasSubstr(R"(          command: ["/opt/lastcall/lastcall-shim", "--socket", )"
                        R"("/run/lastcall/lastcall.sock", "--grace", "60s", "--", vllm, serve])"
                        "  # the image's entry point\n          args: [\"Qwen/Qwen3-0.6B\"]\n"));
}

TEST(Inject, The_sidecar_is_a_native_one_unless_another_is_asked_for) {
  EXPECT_THAT(injected(kDeployment), HasSubstr("          restartPolicy: Always\n"));
  Options plain = options();
  plain.is_native = false;
  std::string const text = injected(kDeployment, plain);
  EXPECT_THAT(text, Not(HasSubstr("restartPolicy")));
  EXPECT_EQ(uninjected(text), kDeployment);
}

TEST(Inject, A_grace_is_made_raised_or_kept_and_the_drain_gets_what_it_has) {
  std::string const text = kDeployment;
  auto const with_grace = [&](std::string const& grace) {
    std::string changed = text;
    changed.insert(changed.find("      containers"),
                   "      terminationGracePeriodSeconds: " + grace + "\n");
    return changed;
  };
  EXPECT_THAT(injected(text), HasSubstr("terminationGracePeriodSeconds: 62\n"));
  EXPECT_THAT(injected(with_grace("30 # s")), HasSubstr("terminationGracePeriodSeconds: 62 # s\n"));
  std::string const longer = injected(with_grace("600"));
  EXPECT_THAT(longer, HasSubstr("terminationGracePeriodSeconds: 600\n"));
  EXPECT_THAT(longer, HasSubstr("shutdown.grace_period=598s"));
  for (char const* const grace : {"30 # s", "null", "~ # s", "", "  # s"}) {
    EXPECT_THAT(injected(with_grace(grace)), HasSubstr("terminationGracePeriodSeconds: 62"));
    EXPECT_EQ(uninjected(injected(with_grace(grace))), with_grace(grace)) << grace;
  }
  std::string flow =
      "{kind: Pod, metadata: {name: p}, spec: {terminationGracePeriodSeconds: ,"
      " containers: [{name: e, image: i}]}}";
  EXPECT_THAT(injected(flow), HasSubstr("{terminationGracePeriodSeconds: 62 , containers"));
  EXPECT_EQ(uninjected(injected(flow)), flow);
}

TEST(Inject, A_container_without_a_command_gets_the_hook) {
  std::string text = kDeployment;
  std::size_t const at = text.find("          command");
  text.erase(at, text.find('\n', at) + 1 - at);
  std::string const with_hook = injected(text);
  EXPECT_THAT(with_hook, HasSubstr("--prestop, engine"));
  EXPECT_THAT(with_hook, HasSubstr("lifecycle.enabled=true"));
  EXPECT_THAT(with_hook, HasSubstr("path: /engine/livez"));
  EXPECT_EQ(uninjected(with_hook), text);
  Options strict = options();
  strict.requires_shim = true;
  EXPECT_THAT(
      injected(text, strict),
      StartsWith("m.yaml:8:11: Deployment/vllm: container vllm has no command, expected the "
                 "entry point of its image (vllm/vllm-openai:v0.10.0)"));
}

TEST(Inject, Settings_of_the_pod_override_those_of_the_command_line) {
  std::string text = kDeployment;
  text.insert(text.find("    spec:\n      containers"),
              "    metadata:\n      annotations:\n"
              "        lastcall.dev/config.shutdown.grace_period: 90s\n");
  Options with = options();
  with.overrides = {"shutdown.grace_period=2m", "engine.kind=sglang"};
  std::string const changed = injected(text, with);
  EXPECT_THAT(changed, HasSubstr("--set=shutdown.grace_period=90s"));
  EXPECT_THAT(changed, HasSubstr("--set=engine.kind=sglang"));
  EXPECT_THAT(changed, HasSubstr("terminationGracePeriodSeconds: 92\n"));
}

TEST(Inject, A_file_reaches_the_pod_as_it_is_and_its_keys_are_not_set_again) {
  Options with = options();
  with.config = "# mine\nengine: {kind: vllm}\nshutdown:\n  grace_period: 30s\n";
  std::string const text = injected(kDeployment, with);
  EXPECT_THAT(text, HasSubstr("lastcall.dev/config: |\n"));
  EXPECT_THAT(text, HasSubstr("          # mine\n          engine: {kind: vllm}\n"));
  EXPECT_THAT(text, HasSubstr("terminationGracePeriodSeconds: 32\n"));
  EXPECT_THAT(text, HasSubstr("metadata.annotations['lastcall.dev/config']"));
  EXPECT_THAT(text, Not(HasSubstr("--set=engine.kind")));
  EXPECT_THAT(text, Not(HasSubstr("--set=shutdown.grace_period")));
  EXPECT_THAT(text, HasSubstr("--set=engine.url=http://127.0.0.1:8000"));
  EXPECT_EQ(uninjected(text), kDeployment);
}

TEST(Inject, The_sidecar_runs_as_the_engine_where_the_pod_names_its_user) {
  std::string text = kDeployment;
  text.insert(text.find("      containers"), "      securityContext: {runAsUser: 1000}\n");
  EXPECT_THAT(injected(text), HasSubstr("runAsUser: 1000\n"));
  EXPECT_THAT(injected(text), Not(HasSubstr("ipc.allow_uids")));
  EXPECT_THAT(injected(kDeployment), HasSubstr("runAsUser: 65532\n"));
  EXPECT_THAT(injected(kDeployment), HasSubstr("--set=ipc.allow_uids=any"));
}

TEST(Inject, An_object_whose_name_is_generated_can_be_chosen) {
  std::string const pod =
      "kind: Pod\nspec: {containers: [{name: e, image: x}]}\nmetadata: {generateName: ";
  std::string const text = pod + "a-}\n---\n" + pod + "b-}\n";
  EXPECT_THAT(injected(text), HasSubstr("Pod/a-*"));
  Options with = options();
  with.only = {"Pod/b-*"};
  EXPECT_THAT(injected(text, with), StartsWith(pod + "a-}\n---\n"));
}

TEST(Inject, Numbers_are_those_that_Kubernetes_reads) {
  auto const with_user = [](std::string const& number) {
    std::string text = kDeployment;
    text.insert(text.find("      containers"),
                "      securityContext: {runAsUser: " + number + "}\n");
    return injected(text);
  };
  EXPECT_THAT(with_user("0755"), HasSubstr("runAsUser: 493\n"));
  EXPECT_THAT(with_user("0o17"), HasSubstr("runAsUser: 15\n"));
  EXPECT_THAT(with_user("0x10"), HasSubstr("runAsUser: 16\n"));
  EXPECT_THAT(with_user("0b11"), HasSubstr("runAsUser: 3\n"));
  EXPECT_THAT(with_user("099"), HasSubstr("runAsUser: 99\n"));
  EXPECT_THAT(with_user("10_000"), HasSubstr("runAsUser: 10000\n"));
  EXPECT_THAT(with_user("0x"), HasSubstr("runAsUser: 65532\n"));
  std::string text = kDeployment;
  text.replace(text.find("8000"), 4, "0x1F40");
  text.insert(text.find("      containers"), "      terminationGracePeriodSeconds: 0100\n");
  EXPECT_THAT(injected(text), HasSubstr("engine.url=http://127.0.0.1:8000\""));
  EXPECT_THAT(injected(text), HasSubstr("shutdown.grace_period=62s"));  // 64 s less 2 s
}

TEST(Inject, The_port_is_that_of_the_container_or_of_its_command) {
  std::string text = kDeployment;
  text.replace(text.find("containerPort: 8000"), 19, "containerPort: 8200");
  EXPECT_THAT(injected(text), HasSubstr("engine.url=http://127.0.0.1:8200"));
  text.erase(text.find("          ports"));
  text.replace(text.find("\"Qwen"), 5, "\"--port=9000\", \"Qwen");
  EXPECT_THAT(injected(text), HasSubstr("engine.url=http://127.0.0.1:9000"));
  text.replace(text.find("[vllm, serve]"), 13, "[sh, -c, \"exec vllm serve\\n --port 9001\\n\"]");
  EXPECT_THAT(injected(text), HasSubstr("engine.url=http://127.0.0.1:9001"));
}

TEST(Inject, An_engine_that_names_no_port_listens_at_that_of_its_kind) {
  std::string text = kDeployment;
  text.erase(text.find("          ports"));
  EXPECT_THAT(injected(text), HasSubstr("engine.url=http://127.0.0.1:8000"));
  text.replace(text.find("vllm/vllm-openai"), 16, "lmsysorg/sglang");
  EXPECT_THAT(injected(text), HasSubstr("engine.url=http://127.0.0.1:30000"));
}

TEST(Inject, The_engine_is_the_main_container_where_nobody_names_it) {
  std::string text = kDeployment;
  text.insert(text.find("        - name: vllm"), "        - {name: istio-proxy, image: p}\n");
  EXPECT_THAT(injected(text), HasSubstr("container=vllm"));
  text.insert(text.find("        - name: vllm"), "        - {name: main, image: m}\n");
  EXPECT_THAT(injected(text), HasSubstr("container=main"));
  text.insert(text.find("    spec:\n"),
              "    metadata: {annotations: {kubectl.kubernetes.io/default-container: vllm}}\n");
  EXPECT_THAT(injected(text), HasSubstr("container=vllm"));
  text.replace(text.find("-container: vllm"), 16, "-container: gone");
  EXPECT_THAT(injected(text), HasSubstr("container=main"));
}

TEST(Inject, A_readiness_gate_that_the_pod_does_not_name_is_noted) {
  Options gated = options();
  gated.config = "discovery: [{kubernetes: {readiness_gate: lastcall.dev/serving}}]\n";
  std::string text = kDeployment;
  Outcome const outcome = inject(one(text), gated);
  ASSERT_EQ(outcome.notes.size(), 1U);
  EXPECT_THAT(outcome.notes[0].text,
              HasSubstr("readiness_gate is lastcall.dev/serving, but nothing waits for it"));

  text += "      readinessGates: [{conditionType: lastcall.dev/serving}]\n";
  EXPECT_THAT(inject(one(text), gated).notes, IsEmpty());
}

TEST(Inject, Other_options_change_what_an_earlier_injection_has_made) {
  Options longer = options();
  longer.overrides = {"shutdown.grace_period=300s"};
  std::string const once = injected(kDeployment, longer);
  EXPECT_EQ(injected(injected(kDeployment), longer), once);
  EXPECT_EQ(uninjected(once), kDeployment);
}

TEST(Inject, A_pod_that_has_lastcall_from_elsewhere_is_left_alone) {
  std::string text = kDeployment;
  text.insert(text.find("        - name: vllm"), "        - name: lastcall\n          image: x\n");
  Outcome const outcome = inject(one(text), options());
  EXPECT_EQ(outcome.texts, std::vector<std::string>{text});
  EXPECT_THAT(outcome.changed, IsEmpty());
  ASSERT_EQ(outcome.notes.size(), 1U);
  EXPECT_THAT(outcome.notes[0].text, HasSubstr("left as it is"));
}

TEST(Inject, A_stream_without_a_workload_comes_out_byte_for_byte) {
  std::string const text = "# a\n---\nkind: Service\n---\n\n---\n{\"kind\": \"ConfigMap\"}";
  Outcome const outcome = inject(one(text), options());
  EXPECT_EQ(outcome.texts, std::vector<std::string>{text});
  EXPECT_THAT(outcome.changed, IsEmpty());
}

std::string named(std::string const& kind, std::string const& name, std::string const& container) {
  return "---\nkind: " + kind + "\nmetadata: {name: " + name +
         "}\nspec: {template: {spec: " + "{containers: [{name: " + container +
         ", command: [x]}]}}}\n";
}

TEST(Inject, Only_named_workloads_of_several_are_injected) {
  std::string const two = named("Deployment", "a", "engine") + named("StatefulSet", "b", "cache");
  EXPECT_THAT(injected(two), HasSubstr("2 workloads (Deployment/a, StatefulSet/b), expected"));
  Options with = options();
  with.container = "engine";
  EXPECT_THAT(inject(one(two), with).changed, ElementsAre("Deployment/a"));
  with = options();
  with.only = {"StatefulSet/b"};
  EXPECT_THAT(inject(one(two), with).changed, ElementsAre("StatefulSet/b"));
  std::string marked = two;
  marked.replace(marked.find("{name: a}"), 9, "{name: a, labels: {lastcall.dev/inject: \"true\"}}");
  EXPECT_THAT(inject(one(marked), options()).changed, ElementsAre("Deployment/a"));
  marked.replace(marked.find("\"true\""), 6, "\"false\"");
  EXPECT_THAT(inject(one(marked), options()).changed, ElementsAre("StatefulSet/b"));
}

TEST(Inject, A_leader_worker_set_serves_by_its_leaders) {
  std::string const both = R"(kind: LeaderWorkerSet
metadata: {name: v}
spec:
  leaderWorkerTemplate:
    leaderTemplate:
      spec: {containers: [{name: leader, command: [x]}]}
    workerTemplate:
      spec: {containers: [{name: worker, command: [x]}]}
)";
  std::string const text = injected(both);
  EXPECT_THAT(text, HasSubstr("\"--\", x"));
  EXPECT_THAT(text, HasSubstr("container=leader"));
  EXPECT_THAT(text, Not(HasSubstr("container=worker")));
  EXPECT_EQ(uninjected(text), both);
}

TEST(Inject, Another_kind_has_its_pod_at_a_path_that_is_given) {
  std::string const runtime = R"(kind: ServingRuntime
metadata:
  name: kserve
spec:
  containers:
    - name: kserve-container
      args: [--port=8080]
)";
  EXPECT_EQ(injected(runtime), runtime);
  Options with = options();
  with.templates = {{"ServingRuntime", "spec"}};
  std::string const text = injected(runtime, with);
  EXPECT_THAT(text, HasSubstr("at=spec"));
  EXPECT_THAT(text, HasSubstr("engine.url=http://127.0.0.1:8080"));
  EXPECT_EQ(uninjected(text), runtime);
}

TEST(Inject, A_job_passes_the_code_of_its_engine_on) {
  std::string const text = injected(named("Job", "j", "engine"));
  EXPECT_THAT(text, HasSubstr("engine.on_exit=propagate"));
}

TEST(Inject, The_pod_of_a_job_does_so_too_where_its_restart_policy_alone_tells) {
  std::string text = kDeployment;
  EXPECT_THAT(injected(text), Not(HasSubstr("engine.on_exit")));
  text.insert(text.find("      containers"), "      restartPolicy: Never\n");
  EXPECT_THAT(injected(text), HasSubstr("engine.on_exit=propagate"));
}

TEST(Inject, Inputs_are_judged_together_and_come_out_one_by_one) {
  std::vector<Input> const inputs{{"a.yaml", named("Deployment", "a", "engine")},
                                  {"b.yaml", "kind: Service\n"}};
  Outcome const outcome = inject(inputs, options());
  ASSERT_EQ(outcome.texts.size(), 2U);
  EXPECT_EQ(outcome.texts[1], "kind: Service\n");
  EXPECT_THAT(outcome.changed, ElementsAre("Deployment/a"));
}

TEST(Inject, Lists_are_looked_into) {
  std::string const list =
      "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  metadata:\n    name: "
      "p\n  spec:\n    containers:\n    - name: e\n      command: [x]\n";
  EXPECT_THAT(inject(one(list), options()).changed, ElementsAre("Pod/p"));
  EXPECT_EQ(uninjected(injected(list)), list);
}

TEST(Inject, A_formatter_in_between_does_not_keep_it_from_being_undone) {
  // Sorted, in lines, lists at the column of their key: as kubectl prints it.
  std::string const text = R"(kind: Pod
metadata:
  annotations:
    lastcall.dev/injected: container=e made=annotations,env,initContainers,volumes
  name: p
spec:
  containers:
  - command:
    - /opt/lastcall/lastcall-shim
    - --
    - x
    env:
    - name: LASTCALL_POD_GRACE_SECONDS
      value: "62"
    name: e
  initContainers:
  - name: lastcall-install
  - name: lastcall
  volumes:
  - emptyDir: {}
    name: lastcall-bin
)";
  EXPECT_EQ(uninjected(text), R"(kind: Pod
metadata:
  name: p
spec:
  containers:
  - command:
    - x
    name: e
)");
}

TEST(Inject, Json_with_surrogate_pairs_keeps_its_bytes_and_means_what_it_meant) {
  std::string const pod =
      R"({"kind": "Pod", "metadata": {"name": "p", "annotations": {"\ud83d\ude00": "\ud83d\ude00",)"
      R"("lastcall.dev/config.log.level": "\ud83d\ude00"}},)"
      R"("spec": {"containers": [{"name": "e", "image": "i"}]}})";
  std::string const text = injected(pod);
  EXPECT_THAT(text, HasSubstr(R"("annotations": {"\ud83d\ude00": "\ud83d\ude00",)"));
  EXPECT_THAT(text, HasSubstr("\"--set=log.level=\xf0\x9f\x98\x80\""));
  EXPECT_EQ(injected(text), text);
  EXPECT_EQ(uninjected(text), pod);
}

TEST(Inject, Secrets_for_the_images_are_added_and_taken_out_again) {
  Options with = options();
  with.pod.pull_secrets = {"ours", "both"};
  for (char const* const own : {"", "      imagePullSecrets: [{name: own}, {name: both}]\n"}) {
    std::string before = kDeployment;
    before.insert(before.find("      containers"), own);
    std::string const after = injected(before, with);
    EXPECT_THAT(after, HasSubstr("secrets=ours"));
    EXPECT_THAT(after, HasSubstr("both"));
    EXPECT_EQ(uninjected(after), before);
  }
}

TEST(Inject, Nulls_in_place_of_probes_and_of_a_hook_are_filled_and_come_back) {
  std::string const hooked = [] {
    std::string text = kDeployment;
    std::size_t const at = text.find("          command: ");
    return text.erase(at, text.find('\n', at) + 1 - at);
  }();
  for (std::string const null : {"", " null", " ~"}) {
    for (std::string const& lines :
         {"          livenessProbe:" + null + "\n          startupProbe:" + null + "\n",
          "          lifecycle:\n            preStop:" + null + "\n",
          std::string("          lifecycle: {preStop: null}\n          startupProbe: null\n")}) {
      std::string text = hooked;
      text.insert(text.find("          args:"), lines);
      std::string const made = injected(text);
      EXPECT_THAT(made, testing::HasSubstr("--prestop")) << made;
      EXPECT_THAT(made, testing::HasSubstr("/engine/livez")) << made;
      EXPECT_THAT(made, testing::HasSubstr("/engine/startupz")) << made;
      EXPECT_EQ(injected(made), made);
      EXPECT_EQ(uninjected(made), text);
    }
  }
}

}  // namespace
}  // namespace lastcall::inject
