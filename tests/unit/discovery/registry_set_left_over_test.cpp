// Removals that were given up at their deadline, and what goes on unnoticed.
#include <boost/asio/steady_timer.hpp>

#include "discovery/registry_set.hpp"
#include "tests/unit/discovery/fake_registry.hpp"

namespace lastcall::discovery::test {
namespace {

TEST_F(RegistrySetTest, A_removal_that_was_given_up_is_tried_on_until_it_is_confirmed) {
  a_.failures_to_come = 1'000'000;
  remove_all(Duration{60});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  auto const reported = changes_.size();
  auto const attempts = a_.removed;
  ASSERT_TRUE(run_until([&] { return a_.removed > attempts + 2; }));
  EXPECT_EQ(state(0), RegistryState::failed);
  EXPECT_LE(changes_.size(), reported + 1) << "what goes on is no news";
  a_.failures_to_come = 0;
  ASSERT_TRUE(run_until([&] { return state(0) == RegistryState::deregistered; }));
  EXPECT_EQ(changes_.back().state, RegistryState::deregistered);
  EXPECT_EQ(set_.status()[0].last_error, "");
  auto const last = a_.removed;
  run_for(Duration{100});
  EXPECT_EQ(a_.removed, last);
  EXPECT_EQ(ends_, 1);
}

TEST_F(RegistrySetTest, Registering_again_ends_what_is_left_of_a_removal) {
  a_.failures_to_come = 1'000'000;
  remove_all(Duration{30});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  a_.failures_to_come = 0;
  set_.register_all();
  ASSERT_TRUE(both(RegistryState::registered));
  auto const attempts = a_.removed;
  run_for(Duration{100});
  EXPECT_EQ(a_.removed, attempts);
  EXPECT_EQ(state(0), RegistryState::registered);
}

TEST_F(RegistrySetTest, Disconnecting_ends_what_is_left_of_a_removal) {
  a_.failures_to_come = 1'000'000;
  remove_all(Duration{30});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  set_.disconnect_all(in(Duration{20'000}), [this](auto const&) { ++ends_; });
  ASSERT_TRUE(run_until([&] { return ends_ == 2; }));
  auto const attempts = a_.removed;
  run_for(Duration{100});
  EXPECT_EQ(a_.removed, attempts);
}

TEST_F(RegistrySetTest, A_second_removal_takes_over_what_is_left_of_the_first) {
  a_.failures_to_come = 1'000'000;
  remove_all(Duration{30});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  remove_all();
  a_.failures_to_come = 0;
  ASSERT_TRUE(run_until([&] { return ends_ == 2; }));
  EXPECT_EQ(results_[0].state, RegistryState::deregistered);
}

TEST_F(RegistrySetTest, The_end_of_the_first_removals_time_does_not_end_the_second) {
  a_.by_hand = true;
  TimePoint const first_ends = in(Duration{20});
  boost::asio::steady_timer before(io_, first_ends - std::chrono::microseconds(1));
  before.async_wait([this](auto const&) { remove_all(); });
  set_.deregister_all(first_ends, [](auto const&) {});
  while (TimePoint::clock::now() < first_ends) {
  }
  run_for(Duration{20});  // both have expired, and one comes after the other
  EXPECT_EQ(state(0), RegistryState::deregistering);
  a_.answer(RegistryResult::ok());
  EXPECT_EQ(state(0), RegistryState::deregistered);
  EXPECT_EQ(ends_, 1);
}

TEST_F(RegistrySetTest, Asking_to_leave_without_waiting_asks_each_once) {
  a_.failures_to_come = 1;
  set_.ask_all_to_leave();
  ASSERT_TRUE(run_until([&] { return state(0) == RegistryState::failed; }));
  ASSERT_TRUE(run_until([&] { return state(1) == RegistryState::deregistered; }));
  EXPECT_EQ(a_.removed, 1);
  EXPECT_EQ(b_.removed, 1);
  EXPECT_EQ(ends_, 0);
  remove_all();
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_EQ(results_[0].state, RegistryState::deregistered);
  EXPECT_EQ(b_.removed, 1);
}

TEST_F(RegistrySetTest, A_registry_that_asks_processes_asks_each_once) {
  a_.asks_once = true;
  a_.failures_to_come = 1'000'000;
  remove_all(Duration{30});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  auto const attempts = a_.removed;
  run_for(Duration{100});
  EXPECT_EQ(a_.removed, attempts);
}

}  // namespace
}  // namespace lastcall::discovery::test
