// The subcommands about the configuration, through the command line that users type.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "supervisor/cli/app.hpp"
#include "supervisor/cli/subcommands.hpp"
#include "tests/unit/config/support.hpp"

namespace lastcall::cli {
namespace {

using config::TemporaryDirectory;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome run(std::vector<char const*> arguments) {
  arguments.insert(arguments.begin(), "lastcall");
  std::ostringstream out;
  std::ostringstream err;
  int const code = run_app(static_cast<int>(arguments.size()), arguments.data(), out, err);
  return {code, out.str(), err.str()};
}

TEST(Cli, Bad_usage_is_exit_code_2_and_one_line) {
  for (std::vector<char const*> const& arguments : {std::vector<char const*>{},
                                                    {"chekc"},
                                                    {"check", "--nope"},
                                                    {"check", "extra"},
                                                    {"check", "--config"},
                                                    {"check", "-o", "xml"},
                                                    {"--nope"},
                                                    {""},
                                                    {"plan", "--pod-grace", "soon"},
                                                    {"plan", "--pod-grace", "1500ms"}}) {
    Outcome const outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_EQ(run({"chekc"}).err,
            "lastcall: unknown command 'chekc', did you mean 'check'?; see 'lastcall --help'\n");
}

TEST(Cli, Help_and_version_are_exit_code_0) {
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_THAT(run({"check", "--help"}).out, HasSubstr("--strict"));
  EXPECT_EQ(run({"--version"}).out, run({"version"}).out);
  EXPECT_THAT(run({"version"}).out, testing::MatchesRegex("lastcall [0-9.]+\n"));
  EXPECT_TRUE(nlohmann::json::parse(run({"version", "-o", "json"}).out).contains("version"));
}

TEST(Cli, Flags_may_repeat_and_do_not_swallow_each_other) {
  TemporaryDirectory const directory;
  std::string const file = directory.write("c.yaml", "");
  Outcome const outcome =
      run({"plan", "-c", file.c_str(), "--set", "shutdown.grace_period=20s", "--set",
           "engine.stop_signal=SIGINT", "--set", "cleanup.paths=[/tmp/a, /tmp/b]", "-o", "json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json const plan = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(plan["timeline"].back()["at_ms"], 20'000);
  EXPECT_THAT(outcome.out, HasSubstr("SIGINT to the engine"));
}

TEST(Cli, Check_reports_that_a_good_file_is_good) {
  TemporaryDirectory const directory;
  CheckOptions options;
  options.load.path = directory.write("c.yaml", "log: {level: debug}\n");
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_check(options, config::environment_of({}), out, err), 0);
  EXPECT_EQ(out.str(), *options.load.path + ": ok\n");
  EXPECT_EQ(err.str(), "");
}

TEST(Cli, Check_prints_every_error_and_warning_and_counts_them) {
  TemporaryDirectory const directory;
  CheckOptions options;
  options.load.path = directory.write("c.yaml", "log: {level: loud}\nprobes: 5\n");
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_check(options, config::environment_of({}), out, err), 2);
  EXPECT_EQ(out.str(), "");
  std::string const& file = *options.load.path;
  EXPECT_EQ(err.str(),
            file +
                ":1:14: log.level: 'loud', expected trace, debug, info, warning, error or "
                "critical\n" +
                file + ":2:9: probes: '5', expected a section of keys\n" + file + ": 2 errors\n");
}

TEST(Cli, Check_fails_on_warnings_only_when_strict) {
  TemporaryDirectory const directory;
  CheckOptions options;
  options.load.path = directory.write("c.yaml", "shutdown: {cleanup_reserve: 1s}\n");
  for (bool const strict : {false, true}) {
    options.strict = strict;
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run_check(options, config::environment_of({}), out, err), strict ? 2 : 0);
    EXPECT_THAT(err.str(),
                StartsWith(*options.load.path + ":1:29: warning: shutdown.cleanup_reserve: "));
    EXPECT_THAT(
        strict ? err.str() : out.str(),
        EndsWith(strict ? "c.yaml: warnings are errors (--strict)\n" : "c.yaml: ok, 1 warning\n"));
  }
}

TEST(Cli, Check_as_JSON_has_the_places) {
  TemporaryDirectory const directory;
  CheckOptions options;
  options.load.path = directory.write("c.yaml", "log: {level: loud}\n");
  options.load.overrides = {"\xff=1"};
  options.output = Output::json;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_check(options, config::environment_of({}), out, err), 2);
  EXPECT_EQ(err.str(), "");
  nlohmann::json const json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["ok"], false);
  ASSERT_EQ(json["errors"].size(), 2U);
  EXPECT_EQ(json["errors"][0]["line"], 1);
  EXPECT_EQ(json["errors"][0]["column"], 14);
  EXPECT_EQ(json["errors"][0]["key"], "log.level");
  EXPECT_FALSE(json["errors"][1].contains("line"));
}

TEST(Cli, Plan_warns_on_stderr_and_plans_on_stdout) {
  PlanOptions options;
  options.load.default_path = "/nonexistent/lastcall.yaml";
  options.pod_grace = "30s";
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(
      run_plan(options, config::environment_of({{"LASTCALL_POD_GRACE_SECONDS", "90"}}), out, err),
      0);
  EXPECT_THAT(out.str(), HasSubstr("  28.000s  exit\n"));
  EXPECT_THAT(err.str(), StartsWith("warning: shutdown.grace_period: 60000ms cut to 28000ms"));
}

TEST(Cli, Plan_refuses_a_bad_configuration) {
  PlanOptions options;
  options.load.default_path = "/nonexistent/lastcall.yaml";
  options.load.overrides = {"shutdown.grace_period=60"};
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_plan(options, config::environment_of({}), out, err), 2);
  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(err.str(), HasSubstr("'60' has no unit"));
}

TEST(Cli, Check_refuses_kinds_of_registries_that_there_are_not) {
  Outcome const outcome =
      run({"check", "-c", "/dev/null", "--set", "discovery=[{consul: {}}, {ipc: {}}]"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("discovery[0].consul: unknown key"));
  EXPECT_THAT(outcome.err, HasSubstr("expected one of etcd, kubernetes, http, file, ipc"));
}

TEST(Cli, Run_refuses_what_it_could_not_do_before_anything_is_started) {
  Outcome const outcome = run({"run", "-c", "/dev/null", "--set",
                               "discovery=[{etcd: {endpoints: []}}]", "--", "/bin/false"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("discovery[0].etcd.endpoints: an empty list"));
}

TEST(Cli, Run_asks_for_dashes_before_a_command_whose_options_it_would_take) {
  for (std::vector<char const*> const& arguments :
       {std::vector<char const*>{"run", "vllm", "serve", "-c", "x"},
        {"run", "vllm", "serve"},
        {"run", "vllm", "--", "serve"},
        {"run", "vllm", "serve", "--port", "80"}}) {
    Outcome const outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("`--`"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace lastcall::cli
