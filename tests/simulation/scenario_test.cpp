// Runs every file of scenarios/ and compares its trace with the one that the core gives.
//
//   scenario_test --rewrite [NAME...]   writes the traces anew: read the diff, it is the behaviour
//   scenario_test --run FILE            prints one file (of the simulation, say) with its trace
#include "tests/simulation/scenario.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "tests/simulation/event_text.hpp"
#include "tests/simulation/run.hpp"

namespace lastcall::simulation {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> scenario_files() {
  std::vector<fs::path> files;
  for (auto const& entry : fs::directory_iterator(LASTCALL_SCENARIOS)) {
    if (entry.path().extension() == ".txt") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ScenarioTest : public testing::Test {
 public:
  explicit ScenarioTest(fs::path file) : file_(std::move(file)) {}
  void TestBody() override {
    Scenario const expected = parse_scenario(read_text_file(file_));
    ASSERT_FALSE(expected.steps.empty()) << file_ << " holds no command";
    try {
      EXPECT_EQ(text_of(run_scenario(expected)), text_of(expected)) << "in " << file_;
    } catch (std::exception const& error) {
      FAIL() << file_ << ": " << error.what();
    }
  }

 private:
  fs::path file_;
};

TEST(Scenario, Shows_an_action_that_its_trace_does_not_have) {
  auto const scenario = parse_scenario("settings\ngiven serving_run\nat 0s signal TERM\n");
  EXPECT_NE(text_of(run_scenario(scenario)), text_of(scenario));
}

TEST(Scenario, Refuses_a_word_that_nobody_knows) {
  EXPECT_THROW(run_scenario(parse_scenario("at 0s signal TERM sometimes\n")), std::exception);
  EXPECT_THROW(run_scenario(parse_scenario("settings grace_period=60\n")), std::exception);
  EXPECT_THROW(run_scenario(parse_scenario("settings grace=60s\n")), std::exception);
  EXPECT_THROW(run_scenario(parse_scenario("at 0s vanish\n")), std::exception);
}

/// Each of its events is written as the simulation has written it.
void expect_to_be_read_back(Scenario const& printed) {
  for (ScenarioStep const& step : printed.steps) {
    std::string const& line = step.command;
    std::size_t const blank = line.find(' ', 3);
    if (line.starts_with("at ") && line.substr(blank) != " restart") {
      Instant const now = parse_instant(line.substr(3, blank - 3));
      EXPECT_EQ(text_of(parse_event(line.substr(blank + 1), now), now), line.substr(blank + 1));
    }
  }
}

TEST(Scenario, Is_what_a_lifecycle_of_the_simulation_prints) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::string text;
    for (std::string const& line : run(generate(seed), true).trace) {
      (text += line) += '\n';
    }
    Scenario const printed = parse_scenario(text);
    ASSERT_GT(printed.steps.size(), 1U) << "seed " << seed;
    EXPECT_EQ(text_of(parse_settings(printed.steps[0].command)), printed.steps[0].command);
    expect_to_be_read_back(printed);
    EXPECT_NO_THROW(run_scenario(printed)) << "seed " << seed;
  }
}

int rewrite(std::vector<std::string> const& names) {
  for (fs::path const& file : scenario_files()) {
    bool const chosen =
        names.empty() || std::find(names.begin(), names.end(), file.stem().string()) != names.end();
    if (chosen) {
      std::string const text = text_of(run_scenario(parse_scenario(read_text_file(file))));
      std::ofstream(file) << text;
    }
  }
  return 0;
}

}  // namespace
}  // namespace lastcall::simulation

int main(int argc, char** argv) {
  using namespace lastcall::simulation;
  std::vector<std::string> const arguments(argv + 1, argv + argc);
  try {
    if (!arguments.empty() && arguments[0] == "--rewrite") {
      return rewrite({arguments.begin() + 1, arguments.end()});
    }
    if (arguments.size() == 2 && arguments[0] == "--run") {
      auto const scenario = parse_scenario(read_text_file(arguments[1]));
      std::fputs(text_of(run_scenario(scenario)).c_str(), stdout);
      return 0;
    }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "scenario_test: %s\n", error.what());
    return 1;
  }
  for (auto const& file : scenario_files()) {
    // The factory's result is released to GTest, which owns its tests.
    testing::RegisterTest(
        "Scenarios", file.stem().string().c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [file]() -> testing::Test* { return std::make_unique<ScenarioTest>(file).release(); });
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
