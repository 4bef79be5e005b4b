#include "ingress/control_gate.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "relay/request_reader.hpp"
#include "tests/unit/ingress/no_observer.hpp"

namespace lastcall::ingress {
namespace {

using Verdict = ControlGate::Verdict;

class Seen final : public NoObserver {
 public:
  void control_called(ControlCall const& call) override {
    calls.push_back(call);
    path = std::string(call.path);
  }

  std::vector<ControlCall> calls;
  std::string path;
};

class ControlGateTest : public testing::Test {
 protected:
  ControlGate::Decision decide(std::string const& target, std::string const& field = "") {
    std::string const wire = "POST " + target + " HTTP/1.1\r\nHost: a\r\n" + field + "\r\n";
    relay::TakenHead taken;
    relay::RequestReader reader;
    EXPECT_EQ(reader.read(wire, {.head = 4096, .body = {}}, taken),
              relay::RequestReader::Found::complete);
    ControlGate const gate(control, seen);
    return gate.decide(taken.head, taken.destination.target,
                       {.tls = nullptr, .address = "1.2.3.4"});
  }

  Control control{
      .paths = {{.path = "/open", .access = relay::Access::relay, .is_engines = true},
                {.path = "/sleep",
                 .access = relay::Access::relay,
                 .is_engines = true,
                 .rest = relay::Rest::begins},
                {.path = "/reset", .access = relay::Access::operators, .is_engines = true},
                {.path = "/never", .access = relay::Access::refuse, .is_engines = true}},
      .token = {},
      .certificates = {}};
  Seen seen;
};

TEST_F(ControlGateTest, A_path_of_work_is_open_and_not_reported) {
  ControlGate::Decision const decision = decide("/v1/completions");
  EXPECT_EQ(decision.verdict, Verdict::open);
  EXPECT_FALSE(decision.is_control);
  EXPECT_EQ(decide("/open").verdict, Verdict::open);
  EXPECT_TRUE(decide("/open").is_control);
  EXPECT_TRUE(seen.calls.empty());
}

TEST_F(ControlGateTest, An_open_path_that_puts_the_engine_to_sleep_is_reported) {
  EXPECT_EQ(decide("/sleep?level=1").verdict, Verdict::open);
  ASSERT_EQ(seen.calls.size(), 1U);
  EXPECT_TRUE(seen.calls[0].is_granted);
  EXPECT_TRUE(seen.calls[0].is_open);
  EXPECT_EQ(seen.calls[0].rest, relay::Rest::begins);
  EXPECT_EQ(seen.path, "/sleep");
}

TEST_F(ControlGateTest, The_token_opens_the_operators_paths_only) {
  control.token = "secret";
  EXPECT_EQ(decide("/reset").verdict, Verdict::operators_only);
  EXPECT_EQ(decide("/reset", "X-Lastcall-Token: wrong\r\n").verdict, Verdict::operators_only);
  EXPECT_EQ(decide("/reset", "X-Lastcall-Token: secret\r\nX-Lastcall-Token: secret\r\n").verdict,
            Verdict::operators_only);
  EXPECT_EQ(decide("/reset", "X-Lastcall-Token: secret\r\n").verdict, Verdict::open);
  EXPECT_EQ(decide("/never", "X-Lastcall-Token: secret\r\n").verdict, Verdict::refused);
  ASSERT_EQ(seen.calls.size(), 5U);
  EXPECT_TRUE(seen.calls[3].is_granted);
  EXPECT_FALSE(seen.calls[3].is_open);
  EXPECT_FALSE(seen.calls[4].is_granted);
}

TEST_F(ControlGateTest, Without_operators_nobody_is_asked_for_a_token) {
  EXPECT_EQ(decide("/reset").verdict, Verdict::refused);
  EXPECT_EQ(decide("/reset", "X-Lastcall-Token: \r\n").verdict, Verdict::refused);
}

TEST_F(ControlGateTest, An_ambiguous_path_is_decided_by_nothing_else) {
  EXPECT_EQ(decide("/open/../never").verdict, Verdict::ambiguous);
  EXPECT_TRUE(seen.calls.empty());
}

TEST_F(ControlGateTest, A_report_has_the_start_of_a_long_path) {
  EXPECT_EQ(decide("/never/" + std::string(1000, 'x')).verdict, Verdict::refused);
  EXPECT_EQ(seen.path, "/never/" + std::string(193, 'x'));
}

}  // namespace
}  // namespace lastcall::ingress
