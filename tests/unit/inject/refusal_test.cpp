#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/inject/support.hpp"

namespace lastcall::inject {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct RefusalCase {
  char const* name;
  char const* before;  // of kDeployment
  char const* after;
  char const* refusal;
};

class Refusal : public testing::TestWithParam<RefusalCase> {};

TEST_P(Refusal, It_names_place_reason_and_what_was_expected) {
  std::string text = kDeployment;
  std::size_t const at = text.find(GetParam().before);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().before).size(), GetParam().after);
  Outcome const outcome = inject(one(text), options());
  ASSERT_FALSE(outcome.refusals.empty()) << outcome.texts[0];
  std::string const first = to_text(outcome.refusals[0]);
  EXPECT_THAT(first, StartsWith("m.yaml:"));
  EXPECT_THAT(first, HasSubstr(GetParam().refusal));
  EXPECT_THAT(first, HasSubstr("expected"));
}

RefusalCase const kRefusalCases[] = {
    {"merge_key", "        - name: vllm\n", "        - name: vllm\n          <<: {a: b}\n",
     "m.yaml:9:11: Deployment/vllm: the engine's container has a merge key"},
    {"key_twice", "          args:", "          image: x\n          args:",
     "the engine's container has the key image twice"},
    {"command_that_is_a_text", "command: [vllm, serve]", "command: vllm serve",
     "the command is not a list"},
    {"grace_that_is_no_number", "      containers",
     "      terminationGracePeriodSeconds: \"30\"\n      containers",
     "terminationGracePeriodSeconds is not a whole number"},
    {"port_of_the_sidecar", "containerPort: 8000", "containerPort: 7090",
     "m.yaml:13:30: Deployment/vllm: port 7090 is the sidecar's"},
    {"port_of_the_sidecar_in_another_one", "      containers:\n",
     "      initContainers: [{name: x, restartPolicy: Always, ports: [{containerPort: 7090}]}]\n"
     "      containers:\n",
     "m.yaml:7:81: Deployment/vllm: port 7090 is the sidecar's"},
    {"volume_of_ours", "      containers", "      volumes: [{name: lastcall-x}]\n      containers",
     "a volume lastcall-x"},
    {"mount_of_ours", "          ports:",
     "          volumeMounts: [{name: x, mountPath: /run/lastcall}]\n          ports:",
     "something is mounted at /run/lastcall"},
    {"mount_of_ours_with_a_slash", "          ports:",
     "          volumeMounts: [{name: x, mountPath: /run/lastcall/}]\n          ports:",
     "something is mounted at /run/lastcall/"},
    {"mount_in_the_shims_folder", "          ports:",
     "          volumeMounts: [{name: x, mountPath: /opt/lastcall/x}]\n          ports:",
     "something is mounted at /opt/lastcall/x"},
    {"mount_of_ours_in_other_words", "          ports:",
     "          volumeMounts: [{name: x, mountPath: /srv/..//opt/./lastcall/x}]\n          ports:",
     "something is mounted at /srv/..//opt/./lastcall/x"},
    {"mount_of_ours_that_is_relative", "          ports:",
     "          volumeMounts: [{name: x, mountPath: run/lastcall}]\n          ports:",
     "something is mounted at run/lastcall"},
    {"mount_around_ours_in_another_notation", "          ports:",
     "          volumeMounts: [{name: x, mountPath: //run/., readOnly: Yes}]\n          ports:",
     "the volume x is mounted at //run/. and is read-only"},
    {"volume_of_ours_in_a_mount", "          ports:",
     "          volumeMounts: [{name: lastcall-admin, mountPath: /x}]\n          ports:",
     "the volume lastcall-admin is mounted"},
    {"mount_around_ours_that_is_read_only", "          ports:",
     "          volumeMounts: [{name: x, mountPath: /opt/, readOnly: true}]\n          ports:",
     "the volume x is mounted at /opt/ and is read-only"},
    {"grace_of_more_than_a_day", "      containers",
     "      terminationGracePeriodSeconds: 86403\n      containers",
     "terminationGracePeriodSeconds is 86403, expected at most 86402"},
    {"variable_of_ours",
     "          ports:", "          env: [{name: LASTCALL_SOCKET, value: x}]\n          ports:",
     "LASTCALL_SOCKET is set"},
    {"container_of_ours", "      containers:\n",
     "      initContainers: [{name: lastcall-install}]\n      containers:\n",
     "a container lastcall-install"},
    {"env_that_is_a_map",
     "          ports:", "          env: {HOME: x}\n          ports:", "env is not a list"},
    {"windows", "      containers", "      os: {name: windows}\n      containers",
     "a pod for Windows"},
};

INSTANTIATE_TEST_SUITE_P(Inject, Refusal, testing::ValuesIn(kRefusalCases),
                         [](auto const& info) { return std::string(info.param.name); });

TEST(Refusals, A_port_of_an_init_container_that_ends_is_free_for_the_sidecar) {
  std::string text = kDeployment;
  text.insert(text.find("      containers:\n"),
              "      initContainers: [{name: x, ports: [{containerPort: 7090}]}]\n");
  EXPECT_EQ(uninjected(injected(text)), text);
}

TEST(Refusals, Containers_with_an_anchor_used_elsewhere_are_not_edited) {
  std::string text = kDeployment;
  text.replace(text.find("containers:\n"), 12, "containers: &c\n");
  EXPECT_EQ(uninjected(injected(text)), text);  // an anchor alone does no harm
  text += "          x: 1\n  again: *c\n";
  EXPECT_THAT(injected(text), HasSubstr("containers has an anchor that is used elsewhere"));
}

TEST(Refusals, Text_that_is_no_yaml_is_reported_with_its_place) {
  EXPECT_THAT(injected("kind: Pod\n---\na: [b\n"), StartsWith("m.yaml:4:1: not valid YAML: "));
}

TEST(Refusals, An_alias_is_not_edited) {
  std::string text = kDeployment;
  text.replace(text.find("metadata: {name: vllm}\n"), 23,
               "metadata: {name: vllm}\nwords: &w [x]\n");
  text.replace(text.find("[vllm, serve]"), 13, "*w");
  EXPECT_THAT(injected(text), HasSubstr("command is an alias, expected it written out"));
}

TEST(Refusals, Text_that_looks_right_and_is_not_is_reported) {
  std::string const pod = "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n    - name: e\n";
  EXPECT_EQ(injected(pod + "      image: \"x\n"),
            "m.yaml:6:14: not valid YAML: a quote that is not closed, expected its end");
  EXPECT_EQ(injected(pod + "      image: 'x"),
            "m.yaml:6:14: not valid YAML: a quote that is not closed, expected its end");
  EXPECT_THAT(injected("kind: Pod\rmetadata: {name: p}\r"),
              HasSubstr("(line 1 has a carriage return without a line feed"));
  EXPECT_EQ(injected("metadata: {}\n\xef\xbb\xbfkind: Pod\n"),
            "m.yaml:2:1: a byte order mark (U+FEFF), expected it only at the start");
  std::string const joined = "kind: x\n---\n\xef\xbb\xbf" + pod + "      image: \"\xef\xbb\xbf\"\n";
  EXPECT_EQ(uninjected(injected(joined)), joined);
}

TEST(Refusals, A_quote_that_another_one_closes_is_reported_where_it_opened) {
  std::string const head = "kind: x\n---\nkind: Pod\nenv:\n  - name: A\n    value: ";
  std::string const why =
      "m.yaml:6:12: not valid YAML: a quote that is closed only in line 8, where the rest of the "
      "line cannot follow it";
  EXPECT_EQ(injected(head + "\"a\n  - name: B\n    value: \"b\"\n"), why);
  EXPECT_EQ(injected(head + "'a\n  - name: \"B\"\n    value: 'b'\n"), why);
  EXPECT_EQ(injected(head + "\"a \\\"\n  - name: B\n    value: \"\"\n"), why);
  EXPECT_EQ(injected(head + "'it''s\n  - name: B\n    value: [c, 'd']\n"), why);
  // These quotes are closed where they should be.
  EXPECT_THAT(injected(head + "\"a\n     b\"\nx: [\n"),
              HasSubstr("m.yaml:9:1: not valid YAML: end"));
  EXPECT_THAT(injected(head + "\"a\" b\n"), HasSubstr("m.yaml:6:16: not valid YAML: end"));
  EXPECT_THAT(injected("kind: Pod\nspec: {a: \"b\n  c\", d: [e}\n"),
              HasSubstr("m.yaml:3:12: not valid YAML: illegal flow end"));
}

TEST(Refusals, A_merge_key_beside_containers_that_are_written_out_hides_nothing) {
  std::string const merged =
      "kind: Deployment\nmetadata: {name: d}\nx: &x {metadata: {}}\nspec:\n  template:\n"
      "    <<: *x\n    spec: {containers: [{name: vllm, command: [vllm, serve]}]}\n";
  std::string const why = "Deployment/d: an object around the pod has a merge key";
  EXPECT_THAT(injected(merged), HasSubstr(why));
  Options with = options();
  with.container = "vllm";  // both have it
  EXPECT_THAT(injected(merged + "---\n" + kDeployment, with),
              HasSubstr("2 workloads (Deployment/d, Deployment/vllm)"));
}

TEST(Refusals, A_workload_whose_containers_are_behind_an_alias_is_not_passed_over) {
  std::string const head = "kind: Deployment\nmetadata: {name: d}\nx: &x {y: 1}\n";
  std::string const why =
      "Deployment/d: an alias or a merge key hides its containers, expected them written out";
  for (char const* const rest :
       {"spec: *x\n", "spec: {template: *x}\n", "spec: {template: {spec: *x}}\n",
        "spec: {template: {spec: {containers: *x}}}\n", "spec: {template: {spec: {<<: *x}}}\n",
        "spec: {<<: *x}\n", "<<: *x\n"}) {
    EXPECT_THAT(injected(head + rest), HasSubstr(why)) << rest;
  }
  EXPECT_EQ(injected("kind: ConfigMap\na: &a 1\ndata: {b: *a}\n"),
            "kind: ConfigMap\na: &a 1\ndata: {b: *a}\n");
  std::string const hidden = head + "spec: *x\n---\n";
  EXPECT_THAT(injected(hidden + kDeployment), HasSubstr(why));
  Options with = options();
  with.only = {"Deployment/vllm"};
  EXPECT_THAT(injected(hidden + kDeployment, with), HasSubstr("lastcall-install"));
  with.only = {"Deployment/d"};
  EXPECT_THAT(injected(hidden + kDeployment, with), HasSubstr(why));
  with = options();
  with.container = "vllm";
  EXPECT_THAT(injected(hidden + kDeployment, with), HasSubstr("lastcall-install"));
}

TEST(Refusals, A_hook_of_its_own_keeps_the_hook_form_away) {
  std::string text = kDeployment;
  text.replace(text.find("command: [vllm, serve]"), 22,
               "lifecycle: {preStop: {exec: {command: [sleep, \"9\"]}}}");
  EXPECT_THAT(injected(text), HasSubstr("it has a preStop hook"));
}

TEST(Refusals, A_container_that_nobody_has_is_named_with_those_that_are_there) {
  Options with = options();
  with.container = "engine";
  EXPECT_EQ(injected(kDeployment, with),
            "--container engine: no workload has such a container, expected one of vllm");
  with = options();
  with.only = {"Deployment/x"};
  EXPECT_EQ(injected(kDeployment, with),
            "--only Deployment/x: no such workload, expected KIND/NAME of Deployment/vllm");
}

TEST(Refusals, A_path_that_leads_to_no_pod_is_not_ignored) {
  std::string const runtime = "kind: Runtime\nspec: {containers: [{name: a, command: [x]}]}\n";
  std::string const both = "kind: X\n---\nkind: List\nitems:\n- kind: Runtime\n---\n" + runtime;
  Options with = options();
  with.templates = {{"Runtime", "spec.template"}};
  EXPECT_THAT(injected(both, with),
              StartsWith("m.yaml:5:3: no pod at spec.template of this Runtime"));
  EXPECT_EQ(injected("kind: X\n", with), "kind: X\n");
  with.templates = {{"Runtime", "spec"}};
  EXPECT_THAT(injected(both, with), HasSubstr("lastcall-install"));
}

TEST(Refusals, Keys_that_hold_the_pod_together_are_not_given) {
  Options with = options();
  with.overrides = {"probes.listen=[::]:9000"};
  EXPECT_THAT(injected(kDeployment, with),
              HasSubstr("probes.listen is given, expected it to be left out"));
}

TEST(Refusals, A_problem_that_the_check_of_the_configuration_finds_is_a_refusal) {
  Options with = options();
  with.check = [](SidecarConfig const& sidecar) {
    EXPECT_EQ(sidecar.pod_grace, 62);
    return config::Problems{{{"--set x", 0, 0}, "x", "unknown key"}};
  };
  EXPECT_THAT(injected(kDeployment, with),
              HasSubstr("the sidecar's configuration: --set x: x: unknown key"));
}

TEST(Refusals, What_an_annotation_gave_is_named_as_the_annotation) {
  Options with = options();
  with.check = [](SidecarConfig const&) {
    return config::Problems{{{"--set engine.knd", 0, 0}, "engine.knd", "unknown key"}};
  };
  auto const noted = [&](std::string const& note) {
    std::string text = kDeployment;
    text.insert(text.find("    spec:\n"),
                "    metadata: {annotations: {lastcall.dev/" + note + "}}\n");
    return injected(text, with);
  };
  EXPECT_THAT(noted("config.engine.knd: vllm"),
              HasSubstr("configuration: lastcall.dev/config.engine.knd: engine.knd: unknown key"));
  EXPECT_THAT(noted("config.probes.listen: x"),
              HasSubstr("lastcall.dev/config.probes.listen is given, expected"));
  EXPECT_THAT(noted("container: engine"),
              HasSubstr("lastcall.dev/container is engine, expected the name of a container"));
}

TEST(Refusals, A_record_whose_container_is_gone_cannot_be_undone) {
  std::string text = injected(kDeployment);
  text.replace(text.find("- name: vllm"), 12, "- name: wllm");
  EXPECT_THAT(uninjected(text), HasSubstr("names container vllm, expected it to be there"));
}

}  // namespace
}  // namespace lastcall::inject
