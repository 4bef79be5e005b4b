// What is allowed and looks wrong, and what is not in this container.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/support.hpp"

namespace lastcall::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> warnings_of(std::string const& yaml, Variables variables = {}) {
  Loaded const loaded = load_text(yaml, {}, std::move(variables));
  EXPECT_THAT(texts(loaded.errors), IsEmpty());
  return texts(loaded.warnings);
}

TEST(Warnings, Budgets_that_do_not_fit_into_the_pod_name_the_numbers) {
  EXPECT_THAT(
      warnings_of("shutdown:\n  grace_period: 60s\n", {{"LASTCALL_POD_GRACE_SECONDS", "30"}}),
      ElementsAre(testing::AllOf(testing::StartsWith("c.yaml:2:17: shutdown.grace_period"),
                                 HasSubstr("60000ms cut to 28000ms"))));
  EXPECT_THAT(warnings_of("", {{"LASTCALL_POD_GRACE_SECONDS", "62"}}), IsEmpty());
}

TEST(Warnings, A_section_that_would_turn_the_ingress_on_and_is_empty) {
  EXPECT_THAT(warnings_of("ingress:\n"),
              ElementsAre(testing::AllOf(testing::StartsWith("c.yaml:1:"),
                                         HasSubstr("`ingress: {}` turns it on"))));
  EXPECT_THAT(warnings_of("ingress: {upstream: \"h:1\"}\n"), IsEmpty());
  EXPECT_THAT(warnings_of("ingress: {enabled: false}\n"), IsEmpty());
}

TEST(Warnings, Thresholds_that_every_pod_may_set_are_named) {
  EXPECT_THAT(
      warnings_of("admission: {http_api: true}\n"),
      ElementsAre(testing::AllOf(testing::StartsWith("c.yaml:1:"),
                                 HasSubstr("admission.http_token: without a token every pod "
                                           "that reaches probes.listen can set"))));
  EXPECT_THAT(warnings_of("admission: {http_api: true, http_token: t}\n"), IsEmpty());
  EXPECT_THAT(warnings_of("admission: {http_api: true}\n", {{"LASTCALL_ADMISSION_TOKEN", "t"}}),
              IsEmpty());
  EXPECT_THAT(warnings_of("admission: {http_token: t}\n"),
              ElementsAre(HasSubstr("admission.http_token: without admission.http_api it has no "
                                    "effect")));
}

TEST(Warnings, A_default_that_does_not_fit_has_no_place) {
  EXPECT_THAT(warnings_of("", {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}),
              ElementsAre(testing::StartsWith("shutdown.grace_period: 60000ms cut to 28000ms")));
}

TEST(Warnings, Each_budget_that_is_cut_is_named) {
  EXPECT_THAT(warnings_of("shutdown: {grace_period: 8s, cleanup_reserve: 5s}\n"
                          "discovery: [{file: {directory: /run/r}}]\n"),
              ElementsAre(HasSubstr("shutdown.deregister_timeout: 5000ms cut to 1500ms"),
                          HasSubstr("shutdown.late_accept: only 0ms of 1000ms"),
                          "c.yaml:1:47: shutdown.cleanup_reserve: 4500ms cut to 4000ms to fit into "
                          "a total of 8000ms"));
  EXPECT_THAT(warnings_of("shutdown: {grace_period: 8s}\n"), ElementsAre());
}

TEST(Warnings, A_reserve_shorter_than_the_end_of_the_engine_is_named) {
  EXPECT_THAT(warnings_of("shutdown: {cleanup_reserve: 1s}\n"),
              ElementsAre("c.yaml:1:29: shutdown.cleanup_reserve: 1s is less than the engine's "
                          "stop (2s) can use, 2s in all: the drain ends 1s earlier"));
}

TEST(Warnings, A_reserve_shorter_than_hooks_and_the_end_of_the_engine_is_named) {
  std::string const hooks = "cleanup: {hooks: [{name: h, command: [/bin/true]}]}\n";
  EXPECT_THAT(warnings_of("shutdown: {cleanup_reserve: 3s}\n" + hooks),
              ElementsAre(HasSubstr("3s is less than cleanup hooks (2s) and the engine's stop "
                                    "(2s) can use, 4s in all: the drain ends 1s earlier")));
  EXPECT_THAT(warnings_of("shutdown: {grace_period: 8s}\n" + hooks +
                          "discovery: [{file: {directory: /run/r}}]\n"),
              Contains(HasSubstr("4s is less than cleanup hooks (2s), disconnects (500ms) and the "
                                 "engine's stop (2s) can use, 4500ms in all: hooks get 500ms "
                                 "less")));
}

TEST(Warnings, Checks_that_outlast_the_rules_around_them_are_named) {
  EXPECT_THAT(
      warnings_of("health:\n  interval: 1s\n  unresponsive_after: 2s\n  checks:\n"
                  "    - {name: a, ipc: {}, timeout: 2s}\n    - {name: b, progress: {}}\n"),
      ElementsAre("c.yaml:5:35: health.checks[0].timeout: 2s is longer than health.interval (1s): "
                  "rounds are skipped while a check is under way",
                  "c.yaml:5:35: health.checks[0].timeout: 2s is not below "
                  "health.unresponsive_after (2s): the first timeout is fatal",
                  "c.yaml:6:27: health.checks[1].progress: without health.stalled_after it never "
                  "fails"));
}

TEST(Warnings, Keys_without_effect_are_named) {
  EXPECT_THAT(warnings_of("admission: {queue_limit: 4, queue_timeout: 1s}\n"
                          "lifecycle: {token: x}\n"
                          "events: {nats: {subject: a}}\n"
                          "engine: {metrics: {url: \"http://a/\"}}\n"),
              ElementsAre(HasSubstr("1:26: admission.queue_limit: without"),
                          HasSubstr("1:44: admission.queue_timeout: without"),
                          HasSubstr("2:20: lifecycle.token: without lifecycle.enabled"),
                          HasSubstr("3:26: events.nats.subject: without events.nats.url"),
                          HasSubstr("4:25: engine.metrics.url: without engine.metrics.running")));
}

TEST(Warnings, Keys_of_tls_without_what_they_need_are_named) {
  EXPECT_THAT(warnings_of("ingress:\n"
                          "  upstream: \"127.0.0.1:8000\"\n"
                          "  tls: {min_version: TLSv1.3, ciphers: [TLS_AES_128_GCM_SHA256],\n"
                          "        client_certificates: optional}\n"),
              ElementsAre(HasSubstr("3:22: ingress.tls.min_version: without ingress.tls.cert_file"),
                          HasSubstr("3:40: ingress.tls.ciphers: without ingress.tls.cert_file"),
                          HasSubstr("4:30: ingress.tls.client_certificates: without "
                                    "ingress.tls.client_ca_file")));
}

TEST(Warnings, Control_paths_for_operators_where_nobody_is_one_are_named) {
  EXPECT_THAT(warnings_of("ingress:\n"
                          "  upstream: \"127.0.0.1:8000\"\n"
                          "  control_paths: {access: operators, status_access: operators}\n"),
              ElementsAre(HasSubstr("3:27: ingress.control_paths.access: without "
                                    "ingress.control_paths.token or certificates nobody is an "
                                    "operator"),
                          HasSubstr("3:53: ingress.control_paths.status_access: without")));
  EXPECT_THAT(warnings_of("ingress: {upstream: \"127.0.0.1:8000\", control_paths: {token: x, "
                          "access: operators}}\n"),
              IsEmpty());
}

TEST(Warnings, A_limit_of_a_check_that_cannot_fail_is_named) {
  EXPECT_THAT(warnings_of("health:\n"
                          "  stalled_after: 60s\n"
                          "  checks: [{name: p, progress: {}, failure_threshold: 3}]\n"),
              ElementsAre(HasSubstr("3:55: health.checks[0].failure_threshold: has no effect")));
}

TEST(Warnings, Thresholds_of_load_that_is_reported_never_or_too_rarely_are_named) {
  std::string const threshold = "admission: {active_decode_blocks_threshold: 0.8}\n";
  std::string const ingress = "ingress: {upstream: 127.0.0.1:1}\n";
  EXPECT_THAT(warnings_of(threshold + ingress),
              ElementsAre(HasSubstr("1:45: admission.active_decode_blocks_threshold: without "
                                    "engine.metrics.kv_usage")));
  EXPECT_THAT(warnings_of(threshold), IsEmpty());  // of an SDK's reports
  EXPECT_THAT(warnings_of(threshold + ingress + "engine: {kind: vllm}\n"), IsEmpty());
  EXPECT_THAT(warnings_of("admission: {active_decode_blocks_threshold: 0.8, load_max_age: 1s}\n"
                          "engine: {kind: vllm}\n"),
              ElementsAre(HasSubstr("1:64: admission.load_max_age: 1s is below health.interval")));
}

TEST(Warnings, Endpoints_that_no_path_is_of_are_named) {
  std::string const ingress = "ingress: {upstream: 127.0.0.1:1}\n";
  std::string const typo = "endpoints: [{name: chat_completion}]\n";
  EXPECT_THAT(
      warnings_of(typo + ingress),
      ElementsAre(HasSubstr("1:20: endpoints[0].name: 'chat_completion' is not an endpoint")));
  EXPECT_THAT(warnings_of(typo), IsEmpty());  // an SDK's
  EXPECT_THAT(warnings_of("endpoints: [{name: chat_completions}, {name: /mine}]\n" + ingress),
              IsEmpty());
}

TEST(Warnings, A_request_that_is_left_to_the_engine_has_a_bound_that_is_named) {
  std::string const defer =
      "endpoints: [{name: generate, cancel: {defer_until_first_byte: true}}]\n";
  EXPECT_THAT(warnings_of(defer + "ingress: {upstream: 127.0.0.1:1}\n"),
              ElementsAre(HasSubstr("endpoints[0].cancel.defer_until_first_byte: without "
                                    "ingress.timeouts.first_byte or total the engine keeps such a "
                                    "request for 5m at most")));
  EXPECT_THAT(warnings_of(defer + "ingress: {upstream: 127.0.0.1:1, timeouts: {total: 1h}}\n"),
              IsEmpty());
}

TEST(Warnings, Metrics_that_are_not_there_cannot_be_merged) {
  EXPECT_THAT(
      warnings_of("probes: {merge_engine_metrics: true}\n"),
      ElementsAre(HasSubstr("1:32: probes.merge_engine_metrics: without engine.metrics.url")));
  EXPECT_THAT(warnings_of("probes: {merge_engine_metrics: true}\nengine: {kind: sglang}\n"),
              IsEmpty());
}

TEST(Warnings, A_guessed_upstream_is_named) {
  EXPECT_THAT(
      warnings_of("ingress: {}\n"),
      ElementsAre("c.yaml:1:10: ingress.upstream: not set: 127.0.0.1:8000 is assumed to be the "
                  "engine"));
  EXPECT_THAT(warnings_of("ingress: {}\nengine: {kind: vllm}\n"), IsEmpty());
}

TEST(Warnings, Sockets_side_by_side_are_named) {
  EXPECT_THAT(warnings_of("ipc: {socket: /a/s, admin_socket: /a/t}\n"),
              ElementsAre(HasSubstr("1:35: ipc.admin_socket: in the directory of ipc.socket")));
}

TEST(Warnings, A_hook_longer_than_all_together_is_named) {
  EXPECT_THAT(warnings_of("cleanup: {hooks: [{name: a, command: [b], timeout: 3s}]}\n"),
              ElementsAre(HasSubstr("1:52: cleanup.hooks[0].timeout: 3s is more than")));
}

TEST(Notes, Files_outside_this_container_are_noted_on_request) {
  TemporaryDirectory const directory;
  LoadOptions options;
  options.path = directory.write("c.yaml",
                                 "cleanup:\n"
                                 "  paths: [\"/no-such-place/x/*\", \"/tmp/*\"]\n"
                                 "  hooks:\n"
                                 "    - {name: a, command: [/no/such/hook]}\n"
                                 "    - {name: b, command: [sh]}\n"
                                 "health:\n"
                                 "  checks: [{name: c, exec: {command: [no-such-command]}}]\n");
  EXPECT_THAT(load(options, environment_of({})).notes, IsEmpty());
  options.look_around = true;
  std::vector<std::string> const notes = texts(load(options, environment_of({})).notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr(":2:11: cleanup.paths[0]: '/no-such-place/x' does not"),
                                 HasSubstr(":4:26: cleanup.hooks[0].command: '/no/such/hook' is"),
                                 HasSubstr(":7:38: health.checks[0].exec.command: "
                                           "'no-such-command' is not an executable here")));
}

TEST(Warnings, The_full_example_has_none) {
  LoadOptions options;
  options.path = LASTCALL_EXAMPLES "/full.yaml";
  Loaded const loaded = load(options, environment_of({}));
  EXPECT_THAT(texts(loaded.errors), IsEmpty());
  EXPECT_THAT(texts(loaded.warnings), IsEmpty());
}

}  // namespace
}  // namespace lastcall::config
