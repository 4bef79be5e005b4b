#include "supervisor/runtime/loop/slow_steps.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::runtime {
namespace {

using namespace std::chrono_literals;

class SlowStepsTest : public ::testing::Test {
 protected:
  void step(std::string_view event, std::chrono::milliseconds took) {
    steps.took(event, now, now + took);
    now += took;
  }

  std::ostringstream out;
  telemetry::Log log{telemetry::LogLevel::info, telemetry::LogFormat::json, out};
  std::vector<std::string> counted;
  SlowSteps steps{log, [this](std::string_view event) { counted.emplace_back(event); }};
  SlowSteps::Clock::time_point now{};
};

TEST_F(SlowStepsTest, A_step_of_5_ms_is_bearable_and_a_longer_one_is_logged_with_its_event) {
  step("timer_expired", 5ms);
  EXPECT_TRUE(counted.empty());
  step("request_begun", 6ms);
  EXPECT_EQ(counted, std::vector<std::string>{"request_begun"});
  EXPECT_NE(out.str().find(R"("event":"request_begun","ms":6)"), std::string::npos) << out.str();
}

TEST_F(SlowStepsTest, All_are_counted_and_one_in_10_s_is_logged_with_the_number_of_the_others) {
  for (int i = 0; i < 50; ++i) {
    step("request_begun", 100ms);
  }
  EXPECT_EQ(counted.size(), 50U);
  std::string const first = out.str();
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 1);
  now += 10s;
  step("shim_gone", 7ms);
  EXPECT_NE(out.str().find(R"("event":"shim_gone","ms":7,"not_logged":49)"), std::string::npos)
      << out.str();
}

}  // namespace
}  // namespace lastcall::runtime
