#include "supervisor/runtime/engine/engine_doubt.hpp"

#include <chrono>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace lastcall::runtime {
namespace {

using lifecycle::CheckVerdict;
using lifecycle::Instant;
using namespace std::chrono_literals;

class Doubt : public ::testing::Test {
 protected:
  void SetUp() override {
    doubt_.add_check();
    doubt_.add_check();
  }
  template <typename Condition>
  bool run_until(Condition condition) {
    auto const give_up = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < give_up) {
      io_.restart();
      io_.run_one_for(100ms);
    }
    return condition();
  }

  bool run(std::size_t check) {
    if (is_idle_) {
      started_.push_back(check);
    }
    return is_idle_;
  }

  boost::asio::io_context io_;
  std::vector<std::size_t> started_;
  std::vector<Instant> passed_since_;
  bool is_idle_ = true;
  lifecycle::Duration server_outlives_engine_{0};
  EngineDoubt doubt_{io_.get_executor(),
                     {.run_now = [this](std::size_t check) { return run(check); },
                      .server_outlives_engine = [this] { return server_outlives_engine_; },
                      .all_passed = [this](Instant since) { passed_since_.push_back(since); }}};
};

TEST_F(Doubt, Ends_when_every_check_has_passed_that_began_after_it) {
  Instant const before = monotonic_now();
  doubt_.arises();
  EXPECT_EQ(started_, (std::vector<std::size_t>{0, 1}));
  doubt_.outcome(0, CheckVerdict::passed);
  EXPECT_TRUE(passed_since_.empty());
  doubt_.outcome(1, CheckVerdict::busy);
  ASSERT_EQ(passed_since_.size(), 1U);
  EXPECT_GE(passed_since_[0], before);
}

TEST_F(Doubt, Is_not_ended_by_a_check_that_was_under_way_when_it_arose) {
  is_idle_ = false;
  doubt_.arises();
  is_idle_ = true;
  doubt_.outcome(0, CheckVerdict::passed);
  doubt_.outcome(1, CheckVerdict::passed);
  EXPECT_TRUE(passed_since_.empty());
  ASSERT_TRUE(run_until([this] { return started_.size() == 2; })) << "they run again";
  doubt_.outcome(0, CheckVerdict::passed);
  doubt_.outcome(1, CheckVerdict::passed);
  EXPECT_EQ(passed_since_.size(), 1U);
}

TEST_F(Doubt, Runs_a_check_that_fails_again_and_no_other) {
  doubt_.arises();
  doubt_.outcome(0, CheckVerdict::passed);
  doubt_.outcome(1, CheckVerdict::failed);
  ASSERT_TRUE(run_until([this] { return started_.size() == 3; }));
  EXPECT_EQ(started_.back(), 1U);
  doubt_.outcome(1, CheckVerdict::timed_out);
  EXPECT_TRUE(passed_since_.empty());
}

TEST_F(Doubt, Goes_on_while_a_server_may_outlive_its_engine) {
  server_outlives_engine_ = 50ms;
  doubt_.arises();
  Instant const arisen = monotonic_now();
  doubt_.outcome(0, CheckVerdict::passed);
  doubt_.outcome(1, CheckVerdict::passed);
  ASSERT_EQ(passed_since_.size(), 1U);
  EXPECT_LT(passed_since_[0], arisen - 40ms) << "what was held before is let go";
  ASSERT_TRUE(run_until([this] { return started_.size() == 4; })) << "they run again";
  doubt_.outcome(0, CheckVerdict::passed);
  doubt_.outcome(1, CheckVerdict::passed);
  ASSERT_EQ(passed_since_.size(), 2U);
  EXPECT_GE(passed_since_[1], arisen) << "a pause is longer than that";
}

TEST_F(Doubt, That_arises_again_wants_checks_of_its_own) {
  doubt_.arises();
  is_idle_ = false;  // they are under way
  ASSERT_TRUE(run_until([&, now = monotonic_now()] { return monotonic_now() > now + 2ms; }));
  doubt_.arises();
  is_idle_ = true;
  doubt_.outcome(0, CheckVerdict::passed);
  doubt_.outcome(1, CheckVerdict::passed);
  EXPECT_EQ(passed_since_.size(), 1U) << "what was held before the first";
  ASSERT_TRUE(run_until([this] { return started_.size() == 4; }));
  doubt_.outcome(0, CheckVerdict::passed);
  doubt_.outcome(1, CheckVerdict::passed);
  EXPECT_EQ(passed_since_.size(), 2U);
}

TEST_F(Doubt, Ends_with_the_checks_and_after_its_time) {
  doubt_.arises();
  doubt_.end();
  doubt_.outcome(0, CheckVerdict::passed);
  doubt_.outcome(1, CheckVerdict::passed);
  EXPECT_TRUE(passed_since_.empty());
  doubt_.arises();
  auto const silent = [this, seen = std::size_t{0}, since = monotonic_now()]() mutable {
    since = seen == started_.size() ? since : monotonic_now();
    seen = started_.size();
    return monotonic_now() > since + 1s;  // it looks ten times a second
  };
  EXPECT_TRUE(run_until(silent));
}

}  // namespace
}  // namespace lastcall::runtime
