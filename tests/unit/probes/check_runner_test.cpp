#include "probes/checks/check_runner.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

namespace lastcall::probes::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A check that the test answers by hand, or that answers by itself.
class FakeCheck final : public Check {
 public:
  FakeCheck(boost::asio::io_context& io, bool answers, int& starts, int& cancels)
      : io_(io), answers_(answers), starts_(starts), cancels_(cancels) {}

  void start(Duration, CheckDone done) override {
    ++starts_;
    if (answers_) {
      boost::asio::post(io_, [done] { done({.result = CheckResult::passed}); });
    }
  }
  void cancel() override { ++cancels_; }

 private:
  boost::asio::io_context& io_;
  bool const answers_;
  int& starts_;
  int& cancels_;
};

class Runner : public ::testing::Test {
 protected:
  void add(std::string name, bool answers) {
    runner_->add(std::move(name), std::make_unique<FakeCheck>(io_, answers, starts_, cancels_), 1s);
  }
  template <typename Condition>
  bool run_until(Condition condition) {
    auto const give_up = Clock::now() + 30s;
    while (!condition() && Clock::now() < give_up) {
      io_.restart();
      io_.run_one_for(100ms);
    }
    return condition();
  }
  void make(Duration interval) {
    runner_.emplace(io_.get_executor(), interval,
                    [this](std::size_t, std::string const& name, CheckOutcome const&) {
                      outcomes_.push_back(name);
                      if (on_outcome_) {
                        on_outcome_();
                      }
                    });
    runner_->on_round([this] { rounds_.push_back(Clock::now()); });
  }

  boost::asio::io_context io_;
  std::optional<CheckRunner> runner_;
  int starts_ = 0;
  int cancels_ = 0;
  std::vector<std::string> outcomes_;
  std::vector<Clock::time_point> rounds_;
  std::function<void()> on_outcome_;
};

TEST_F(Runner, The_first_round_comes_at_once) {
  make(1h);
  add("a", true);
  add("b", true);
  runner_->start();
  EXPECT_TRUE(run_until([&] { return outcomes_.size() == 2; }));
  EXPECT_EQ(outcomes_, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(rounds_.size(), 1U);
}

TEST_F(Runner, Rounds_keep_the_interval) {
  make(50ms);
  add("a", true);
  runner_->start();
  ASSERT_TRUE(run_until([&] { return rounds_.size() >= 4; }));
  EXPECT_GE(rounds_[3] - rounds_[0], 100ms);  // three intervals, one may begin late
  EXPECT_EQ(starts_, static_cast<int>(rounds_.size()));
}

TEST_F(Runner, Rounds_of_a_starting_engine_come_fast_and_then_ever_slower) {
  make(1h);
  add("a", true);
  runner_->while_starting([] { return true; });
  runner_->start();
  ASSERT_TRUE(run_until([&] { return rounds_.size() >= 12; }));
  EXPECT_LT(rounds_[3] - rounds_[0], 5s);
  for (std::size_t i = 1; i < rounds_.size(); ++i) {
    EXPECT_GE(rounds_[i] - rounds_[i - 1], CheckRunner::kFirstPause) << i;
    EXPECT_GE(rounds_[i] - rounds_[i - 1], (rounds_[i - 1] - rounds_[0]) / 4) << i;
  }
}

TEST_F(Runner, Once_it_has_started_the_interval_holds) {
  make(1h);
  add("a", true);
  bool starting = true;
  runner_->while_starting([&] { return starting; });
  on_outcome_ = [&] { starting = outcomes_.size() < 3; };
  runner_->start();
  ASSERT_TRUE(run_until([&] { return outcomes_.size() == 3; }));
  io_.restart();
  io_.run_for(300ms);
  EXPECT_LE(rounds_.size(), 4U) << "one may have been due when it was ready";
}

TEST_F(Runner, Rounds_come_without_any_check_too) {
  make(10ms);
  runner_->start();
  EXPECT_TRUE(run_until([&] { return rounds_.size() >= 3; }));
}

TEST_F(Runner, A_check_never_overlaps_itself_and_does_not_hold_up_others) {
  make(10ms);
  add("stuck", false);
  add("good", true);
  runner_->start();
  EXPECT_TRUE(run_until([&] { return outcomes_.size() >= 4; }));
  EXPECT_EQ(starts_, 1 + static_cast<int>(rounds_.size()));
  EXPECT_EQ(std::count(outcomes_.begin(), outcomes_.end(), "stuck"), 0);
}

TEST_F(Runner, Missed_rounds_are_not_made_up_for) {
  make(20ms);
  add("a", true);
  runner_->start();
  ASSERT_TRUE(run_until([&] { return rounds_.size() == 1; }));
  auto const wake = Clock::now() + 200ms;
  while (Clock::now() < wake) {  // the loop is busy elsewhere for ten intervals
  }
  auto const before = rounds_.size();
  ASSERT_TRUE(run_until([&] { return rounds_.size() == before + 2; }));
  EXPECT_GT(rounds_[before + 1] - rounds_[before], 0ms);
  EXPECT_LT(rounds_.size(), 6U);
}

TEST_F(Runner, Nothing_is_reported_after_stop) {
  make(10ms);
  add("a", true);
  runner_->start();
  ASSERT_TRUE(run_until([&] { return !outcomes_.empty(); }));
  runner_->stop();
  auto const before = rounds_.size();
  EXPECT_GE(cancels_, 1);
  io_.restart();
  io_.run_for(50ms);
  EXPECT_EQ(rounds_.size(), before);
}

TEST_F(Runner, It_may_be_stopped_from_its_own_report) {
  make(10ms);
  add("a", true);
  on_outcome_ = [this] { runner_->stop(); };
  runner_->start();
  EXPECT_TRUE(run_until([&] { return outcomes_.size() == 1; }));
  io_.restart();
  io_.run_for(50ms);
  EXPECT_EQ(outcomes_.size(), 1U);
}

TEST_F(Runner, A_round_that_is_asked_for_comes_now) {
  make(1h);
  add("a", true);
  runner_->start();
  ASSERT_TRUE(run_until([&] { return outcomes_.size() == 1; }));
  runner_->run_now();
  EXPECT_TRUE(run_until([&] { return outcomes_.size() == 2; }));
}

TEST_F(Runner, A_check_may_run_beside_the_rounds_unless_it_runs_already) {
  make(1h);
  add("good", true);
  add("stuck", false);
  EXPECT_FALSE(runner_->run_now(0)) << "nothing was started";
  runner_->start();
  ASSERT_TRUE(run_until([&] { return outcomes_.size() == 1; }));
  EXPECT_TRUE(runner_->run_now(0));
  EXPECT_FALSE(runner_->run_now(1));
  EXPECT_TRUE(run_until([&] { return outcomes_.size() == 2; }));
  EXPECT_EQ(rounds_.size(), 1U);
}

TEST_F(Runner, A_round_that_is_asked_for_does_not_start_what_was_not_started) {
  make(10ms);
  add("a", true);
  runner_->run_now();
  io_.restart();
  io_.run_for(50ms);
  EXPECT_EQ(starts_, 0);
}

}  // namespace
}  // namespace lastcall::probes::test
