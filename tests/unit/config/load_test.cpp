// The sources of values, and what files and values without problems give.
#include "config/load.hpp"

#include <array>
#include <random>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/config/support.hpp"

namespace lastcall::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Load, Any_uid_may_connect_by_one_word) {
  auto const ipc_of = [](std::string const& text) { return load_text(text).config.ipc.allow_uids; };
  EXPECT_EQ(ipc_of("ipc: {allow_uids: any}\n"), (AllowedUids{.any = true}));
  EXPECT_EQ(ipc_of("ipc: {allow_uids: [7]}\n"), (AllowedUids{.listed = {7}}));
  EXPECT_TRUE(load_text("{}", {"ipc.allow_uids=any"}).config.ipc.allow_uids.any);
}

TEST(Load, Json_may_write_a_character_as_the_escapes_of_two_surrogates) {
  Loaded const loaded = load_text(R"({"cleanup": {"paths": ["/tmp/\ud83d\ude00"]}, "log": 7})");
  EXPECT_THAT(loaded.config.cleanup.paths, ElementsAre("/tmp/\xf0\x9f\x98\x80"));
  EXPECT_THAT(texts(loaded.errors), ElementsAre(HasSubstr("c.yaml:1:54: log: ")));
}

TEST(Load, An_empty_file_means_the_defaults) {
  for (char const* const text :
       {"", "\n", "# nothing\n", "---\n", "{}\n", "null\n", "---\n...\n"}) {
    Loaded const loaded = load_text(text);
    EXPECT_THAT(texts(loaded.errors), IsEmpty()) << text;
    EXPECT_THAT(texts(loaded.warnings), IsEmpty()) << text;
    EXPECT_THAT(differences(Config{}, loaded.config), IsEmpty()) << text;
  }
}

TEST(Load, A_section_without_keys_means_the_defaults) {
  Loaded const loaded = load_text("shutdown:\n  # grace_period: 5s\nlog: ~\nhealth: {}\n");
  EXPECT_THAT(texts(loaded.errors), IsEmpty());
  EXPECT_THAT(differences(Config{}, loaded.config), IsEmpty());
}

TEST(Load, Every_kind_of_value_arrives) {
  Config const c = load_text(R"(
identity: {model: "Qwen/Qwen3-0.6B", advertise: "http://10.0.0.7:8080"}
engine: {kind: sglang, command: [vllm, serve, "8"], stop_signal: SIGINT, on_exit: propagate}
shutdown: {grace_period: 2m, late_accept: 500ms, migrate: at_start, after_stop: rearm}
health:
  dead_statuses: [500]
  checks:
    - {name: port, tcp: {address: "[::1]:8000"}, failure_threshold: 3}
probes: {listen: "127.0.0.1:0", readiness_on_stop: late}
ipc: {mode: "0600", allow_uids: [0, 1000]}
discovery: [{etcd: {lease_ttl: 5s}}, {file: {directory: /tmp/x}, name: files}]
admission: {active_decode_blocks_threshold: 0.85, active_prefill_tokens_threshold: 10000000000}
)")
                       .config;
  EXPECT_EQ(c.identity.model, "Qwen/Qwen3-0.6B");
  EXPECT_EQ(c.engine.kind, EngineKind::sglang);
  EXPECT_THAT(c.engine.command, ElementsAre("vllm", "serve", "8"));
  EXPECT_EQ(c.engine.stop_signal, "SIGINT");
  EXPECT_EQ(c.engine.on_exit, OnExit::propagate);
  EXPECT_EQ(c.shutdown.budgets.grace_period, 2min);
  EXPECT_EQ(c.shutdown.budgets.late_accept, 500ms);
  EXPECT_EQ(c.shutdown.migrate, Migrate::at_start);
  EXPECT_EQ(c.shutdown.after_stop, AfterStop::rearm);
  EXPECT_EQ(c.health.dead_statuses, std::vector<std::uint32_t>{500});
  ASSERT_EQ(c.health.checks.value().size(), 1U);
  EXPECT_EQ(c.health.checks->front(),
            (HealthCheck{"port", TcpCheck{{"::1", 8000}}, Duration{1s}, 3U}));
  EXPECT_EQ(c.probes.listen, (Address{"127.0.0.1", 0}));
  EXPECT_EQ(c.probes.readiness_on_stop, ReadinessOnStop::late);
  EXPECT_EQ(c.ipc.mode, 0600U);
  EXPECT_THAT(c.ipc.allow_uids.listed, ElementsAre(0U, 1000U));
  EXPECT_THAT(c.discovery, ElementsAre(Registry{"etcd", EtcdRegistry{.lease_ttl = 5s}},
                                       Registry{"files", FileRegistry{"/tmp/x"}}));
  EXPECT_EQ(c.admission.active_decode_blocks_threshold, 0.85);
  EXPECT_EQ(c.admission.active_prefill_tokens_threshold, 10'000'000'000U);
}

TEST(Load, The_ingress_is_on_when_its_section_is_there) {
  EXPECT_FALSE(load_text("").config.ingress.enabled);
  EXPECT_FALSE(load_text("ingress:\n").config.ingress.enabled);
  EXPECT_TRUE(load_text("ingress: {}\n").config.ingress.enabled);
  EXPECT_FALSE(load_text("ingress: {enabled: false}\n").config.ingress.enabled);
  EXPECT_TRUE(load_text("", {"ingress.listen=[::]:9"}).config.ingress.enabled);
  std::string const off = "ingress: {enabled: false}\n";
  EXPECT_FALSE(load_text(off, {"ingress.listen=[::]:9"}).config.ingress.enabled);
  EXPECT_TRUE(load_text(off, {"ingress.enabled=true"}).config.ingress.enabled);
  EXPECT_FALSE(
      load_text("", {"ingress.enabled=false", "ingress.listen=[::]:9"}).config.ingress.enabled);
}

TEST(Load, No_checks_and_unset_checks_are_two_things) {
  EXPECT_FALSE(load_text("health: {checks: }\n").config.health.checks.has_value());
  EXPECT_EQ(load_text("health: {checks: []}\n").config.health.checks, std::vector<HealthCheck>{});
}

TEST(Load, Flags_go_over_variables_and_variables_over_the_file) {
  std::string const file = "log: {level: error, format: text}\n";
  EXPECT_EQ(load_text(file).config.log.level, LogLevel::error);
  EXPECT_EQ(load_text(file, {}, {{"LASTCALL_LOG_LEVEL", "debug"}}).config.log.level,
            LogLevel::debug);
  Config const c = load_text(file, {"log.level=trace"}, {{"LASTCALL_LOG_LEVEL", "debug"}}).config;
  EXPECT_EQ(c.log.level, LogLevel::trace);
  EXPECT_EQ(c.log.format, LogFormat::text);
}

TEST(Load, A_variable_for_a_key_of_a_section_does_not_turn_that_on) {
  Loaded const loaded = load_text("", {}, {{"LASTCALL_INGRESS_TOKEN", "x"}});
  EXPECT_FALSE(loaded.config.ingress.enabled);
  EXPECT_EQ(loaded.config.ingress.control_paths.token, "x");
  EXPECT_THAT(texts(loaded.warnings),
              ElementsAre("LASTCALL_INGRESS_TOKEN: ingress.control_paths.token: without ingress it "
                          "has no effect"));
  EXPECT_TRUE(
      load_text("ingress: {upstream: \"127.0.0.1:8000\"}\n", {}, {{"LASTCALL_INGRESS_TOKEN", "x"}})
          .config.ingress.enabled);
}

TEST(Load, The_last_of_two_flags_for_one_key_holds) {
  EXPECT_EQ(load_text("", {"log.level=trace", "log.level=error"}).config.log.level,
            LogLevel::error);
}

TEST(Load, Flags_take_texts_as_they_are_and_lists_as_YAML) {
  Config const c =
      load_text("admission: {engine_request_limit: 5}\nengine: {url: \"http://a\"}\n",
                {"identity.model=5", "probes.listen=[::]:7", "cleanup.paths=[/tmp/a, \"/tmp/b\"]",
                 "admission.engine_request_limit=", "engine.url=null",
                 "health={interval: 5s, checks: []}", "discovery=[{file: {directory: /tmp/x}}]",
                 "engine.command=[a, b=c]"})
          .config;
  EXPECT_EQ(c.identity.model, "5");
  EXPECT_EQ(c.probes.listen, (Address{"::", 7}));
  EXPECT_THAT(c.cleanup.paths, ElementsAre("/tmp/a", "/tmp/b"));
  EXPECT_EQ(c.admission.engine_request_limit, std::nullopt);
  EXPECT_EQ(c.engine.url, std::nullopt);
  EXPECT_EQ(c.health.interval, 5s);
  EXPECT_EQ(c.discovery.size(), 1U);
  EXPECT_THAT(c.engine.command, ElementsAre("a", "b=c"));
}

TEST(Load, Problems_in_a_flag_name_the_flag) {
  EXPECT_THAT(texts(load_text("", {"a..b=1", "=1", "log.levle=info", "cleanup.paths=[", "log=5",
                                   "health.checks[0].timeout=1s", "identity.model=caf\xe9"})
                        .errors),
              ElementsAre("--set a..b: an empty name in the key, expected a.b=value",
                          "--set =1: no key and value, expected key=value",
                          "--set log.levle: log.levle: unknown key, did you mean 'level'?",
                          "--set cleanup.paths: not valid YAML: end of sequence flow not found",
                          "--set log: log: '5', expected a section of keys",
                          HasSubstr("health.checks[0]: unknown key, expected one of interval"),
                          "--set identity.model: invalid UTF-8 (byte 0xe9), expected UTF-8 text"));
}

TEST(Load, Without_any_file_the_defaults_hold) {
  TemporaryDirectory const directory;
  LoadOptions options;
  options.default_path = directory / "none.yaml";
  Loaded const loaded = load(options, environment_of({}));
  EXPECT_THAT(texts(loaded.errors), IsEmpty());
  EXPECT_EQ(loaded.source, "");
}

TEST(Load, The_flag_names_the_file_before_the_variable_and_that_before_the_default) {
  TemporaryDirectory const directory;
  LoadOptions options;
  options.default_path = directory.write("default.yaml", "identity: {model: default}\n");
  std::string const other = directory.write("variable.yaml", "identity: {model: variable}\n");
  EXPECT_EQ(load(options, environment_of({})).config.identity.model, "default");
  EXPECT_EQ(load(options, environment_of({{"LASTCALL_CONFIG", other}})).config.identity.model,
            "variable");
  options.path = directory.write("flag.yaml", "identity: {model: flag}\n");
  EXPECT_EQ(load(options, environment_of({{"LASTCALL_CONFIG", other}})).config.identity.model,
            "flag");
}

TEST(Load, A_file_that_was_named_must_be_a_readable_file) {
  TemporaryDirectory const directory;
  LoadOptions options;
  options.path = directory / "none.yaml";
  EXPECT_THAT(texts(load(options, environment_of({})).errors),
              ElementsAre(*options.path + ": cannot open: No such file or directory"));
  options.path = directory / ".";
  EXPECT_THAT(texts(load(options, environment_of({})).errors),
              ElementsAre(*options.path + ": a directory, expected a file"));
  options.path = "";
  EXPECT_THAT(texts(load(options, environment_of({})).errors),
              ElementsAre("--config: no file name, expected one"));
  options.path = std::nullopt;
  std::string const missing = directory / "none.yaml";
  EXPECT_THAT(texts(load(options, environment_of({{"LASTCALL_CONFIG", missing}})).errors),
              ElementsAre(missing + ": cannot open: No such file or directory"));
}

TEST(Load, A_pipe_is_read_once_and_refused_where_it_would_be_read_again) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  LoadOptions options;
  options.path = "/proc/self/fd/" + std::to_string(ends[0]);
  std::string_view const text = "identity: {model: piped}\n";
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  options.is_read_again = true;
  EXPECT_THAT(texts(load(options, environment_of({})).errors),
              ElementsAre(*options.path +
                          ": a pipe, expected a file that a restart or a reload can read again"));
  options.is_read_again = false;
  EXPECT_EQ(load(options, environment_of({})).config.identity.model, "piped");
  ::close(ends[0]);
}

TEST(Load, Pod_grace_comes_from_its_variable_or_is_the_default_of_Kubernetes) {
  Problems problems;
  EXPECT_EQ(pod_grace(environment_of({}), problems).value, std::nullopt);
  EXPECT_EQ(pod_grace(environment_of({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}), problems).value,
            30s);
  EXPECT_EQ(pod_grace(environment_of({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                      {"LASTCALL_POD_GRACE_SECONDS", "62"}}),
                      problems)
                .value,
            62s);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(texts(load_text("", {}, {{"LASTCALL_POD_GRACE_SECONDS", "60s"}}).errors),
              ElementsAre("LASTCALL_POD_GRACE_SECONDS: '60s', expected whole seconds, 0 to "
                          "604800"));
}

TEST(Load, A_grace_period_that_was_given_is_told_apart_from_the_default) {
  EXPECT_FALSE(load_text("shutdown: {late_accept: 2s}\n").grace_period_is_given);
  EXPECT_TRUE(load_text("shutdown: {grace_period: 60s}\n").grace_period_is_given);
  EXPECT_TRUE(load_text("", {"shutdown.grace_period=60s"}).grace_period_is_given);
}

TEST(Load, A_reload_sees_which_keys_differ_and_applies_only_the_live_ones) {
  Config before = load_text("log: {level: info}\nprobes: {listen: \"[::]:1\"}\n").config;
  Config const after = load_text(
                           "log: {level: debug}\nprobes: {listen: \"[::]:2\"}\n"
                           "health: {unresponsive_after: 5s, failure_threshold: 4, interval: 1s}\n")
                           .config;
  std::vector<std::string> found;
  for (Difference const& d : differences(before, after)) {
    found.push_back(d.key + ": " + d.before + " -> " + d.after + (d.live ? " live" : ""));
  }
  EXPECT_THAT(
      found,
      ElementsAre("health.interval: 2s -> 1s", "health.unresponsive_after: 30s -> 5s live",
                  "health.failure_threshold:  -> 4 live", "probes.listen: \"[::]:1\" -> \"[::]:2\"",
                  "log.level: info -> debug live"));
  apply_live(before, after);
  EXPECT_EQ(before.log.level, LogLevel::debug);
  EXPECT_EQ(before.health.unresponsive_after, 5s);
  EXPECT_EQ(before.health.failure_threshold, 4U);
  EXPECT_EQ(before.health.interval, 2s);
  EXPECT_EQ(before.probes.listen.port, 1);
}

TEST(Load, A_difference_of_a_secret_does_not_show_it) {
  Config before;
  Config after;
  before.lifecycle.token = "one";
  after.lifecycle.token = "two";
  std::vector<Difference> const found = differences(before, after);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().before, "(secret)");
  EXPECT_EQ(found.front().after, "(secret)");
  Config const registry = load_text("discovery: [{http: {url: \"http://r/?key=hush\"}}]\n").config;
  for (Difference const& d : differences(Config{}, registry)) {
    EXPECT_EQ(d.after, "(secret)") << d.key;
  }
}

TEST(Load, A_difference_of_a_url_does_not_show_its_query) {
  Config before;
  Config after;
  before.engine.metrics.url = "http://e/metrics?token=hush#hush";
  after.health.checks = {{.kind = HttpCheck{.url = "http://e/health?key=hush"}}};
  std::vector<Difference> const found = differences(before, after);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].before, "\"http://e/metrics?***\"");
  EXPECT_THAT(found[1].after, testing::HasSubstr("\"http://e/health?***\""));
  for (Difference const& d : found) {
    EXPECT_THAT(d.before + d.after, testing::Not(testing::HasSubstr("hush"))) << d.key;
  }
}

TEST(Load, Mutated_files_never_crash_and_always_end_in_a_verdict) {
  std::string const example = read_text(LASTCALL_EXAMPLES "/full.yaml");
  ASSERT_FALSE(example.empty());
  std::mt19937 random(20'260);
  std::string const interesting = "{}[]:,&*!|>'\"#%@`-? \n\t\0\xff\xc3~<0";
  std::size_t accepted = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = example;
    for (unsigned edit = 0; edit <= random() % 4; ++edit) {
      std::size_t const at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = interesting[random() % interesting.size()];
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        default:
          text.insert(at, text, random() % text.size(), random() % 40);
      }
    }
    accepted += load_text(text).errors.empty() ? 1 : 0;
  }
  EXPECT_GT(accepted, 0U);    // edits in comments and free texts
  EXPECT_LT(accepted, 400U);  // and those that break it
}

}  // namespace
}  // namespace lastcall::config
