#include "discovery/registry_set.hpp"

#include <algorithm>

#include "tests/unit/discovery/fake_registry.hpp"

namespace lastcall::discovery::test {
namespace {

TEST_F(RegistrySetTest, Registers_everywhere_and_reports_each) {
  set_.register_all();
  EXPECT_EQ(state(0), RegistryState::registering);
  ASSERT_TRUE(both(RegistryState::registered));
  EXPECT_EQ(changes_.size(), 2U);
  EXPECT_EQ(set_.status()[0].attempts, 1U);
}

TEST_F(RegistrySetTest, Deregister_all_ends_when_each_has_confirmed) {
  set_.register_all();
  both(RegistryState::registered);
  b_.by_hand = true;
  remove_all();
  ASSERT_TRUE(run_until([&] { return state(0) == RegistryState::deregistered; }));
  EXPECT_EQ(ends_, 0);
  b_.answer(RegistryResult::ok());
  EXPECT_EQ(ends_, 1);
  ASSERT_EQ(results_.size(), 2U);
  EXPECT_EQ(results_[1].state, RegistryState::deregistered);
}

TEST_F(RegistrySetTest, Failures_are_retried_and_reported) {
  a_.failures_to_come = 3;
  set_.register_all();
  ASSERT_TRUE(both(RegistryState::registered));
  EXPECT_EQ(a_.entered, 4);
  EXPECT_EQ(set_.status()[0].attempts, 4U);
  EXPECT_EQ(set_.status()[0].last_error, "");
  EXPECT_EQ(b_.entered, 1) << "one that fails repeats for itself";
  ASSERT_EQ(changes_.size(), 5U);  // three failures, two successes
  EXPECT_EQ(std::count_if(changes_.begin(), changes_.end(),
                          [](auto const& status) { return status.last_error == "no route"; }),
            3);
}

TEST_F(RegistrySetTest, The_time_of_an_attempt_is_that_of_its_own_operation) {
  a_.by_hand = true;
  set_.register_all();
  run_for(Duration{30});
  a_.answer(RegistryResult::failed("no route"));
  EXPECT_GE(set_.status()[0].latency, Duration{30}) << "so far";
  ASSERT_TRUE(run_until([&] { return a_.entered == 2; }));
  a_.answer(RegistryResult::ok());
  EXPECT_GE(set_.status()[0].latency, Duration{30});
  remove_all();
  EXPECT_EQ(set_.status()[0].latency, Duration{0}) << "the removal has only begun";
  a_.answer(RegistryResult::ok());
}

TEST_F(RegistrySetTest, Deregistering_is_retried_inside_its_budget) {
  a_.failures_to_come = 2;
  remove_all();
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_EQ(a_.removed, 3);
  EXPECT_EQ(results_[0].state, RegistryState::deregistered);
}

TEST_F(RegistrySetTest, A_wait_that_a_server_asks_for_is_kept_while_registering) {
  a_.failures_to_come = 1;
  a_.retry_after = Duration{150};
  auto const began = TimePoint::clock::now();
  set_.register_all();
  ASSERT_TRUE(both(RegistryState::registered));
  EXPECT_GE(TimePoint::clock::now() - began, a_.retry_after);
}

TEST_F(RegistrySetTest, A_wait_that_a_server_asks_for_leaves_half_of_a_stops_time) {
  a_.failures_to_come = 1;
  a_.retry_after = Duration{3'600'000};
  auto const began = TimePoint::clock::now();
  remove_all(Duration{2'000});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_GE(TimePoint::clock::now() - began, Duration{900});
  EXPECT_EQ(a_.removed, 2);
  EXPECT_EQ(results_[0].state, RegistryState::deregistered);
}

TEST_F(RegistrySetTest, A_registry_that_hangs_is_given_up_at_the_deadline) {
  a_.by_hand = true;
  remove_all(Duration{60});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_EQ(results_[0].state, RegistryState::failed);
  EXPECT_NE(results_[0].last_error, "");
  EXPECT_EQ(results_[1].state, RegistryState::deregistered);
  a_.answer(RegistryResult::ok());  // confirmed after all
  EXPECT_EQ(state(0), RegistryState::deregistered);
  EXPECT_EQ(ends_, 1);
}

TEST_F(RegistrySetTest, A_registry_that_fails_for_ever_is_given_up_with_its_reason) {
  a_.failures_to_come = 1'000'000;
  remove_all(Duration{60});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_EQ(results_[0].state, RegistryState::failed);
  EXPECT_NE(results_[0].last_error.find("no route"), std::string::npos);
  EXPECT_GT(a_.removed, 1);
}

TEST_F(RegistrySetTest, Deregistering_is_tried_also_when_nothing_was_registered) {
  remove_all();
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_EQ(a_.removed, 1);
}

TEST_F(RegistrySetTest, A_confirmed_removal_is_not_repeated) {
  remove_all();
  run_until([&] { return ends_ == 1; });
  remove_all();
  EXPECT_TRUE(run_until([&] { return ends_ == 2; }));
  EXPECT_EQ(a_.removed, 1);
}

TEST_F(RegistrySetTest, A_removal_waits_for_the_registration_under_way) {
  a_.by_hand = true;
  set_.register_all();
  remove_all();
  EXPECT_EQ(a_.removed, 0);
  EXPECT_EQ(a_.hurried, 1);
  a_.answer(RegistryResult::ok());
  EXPECT_EQ(a_.removed, 1);
  a_.answer(RegistryResult::ok());
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_EQ(results_[0].state, RegistryState::deregistered);
}

TEST_F(RegistrySetTest, A_registration_that_ends_after_the_removal_was_given_up_is_undone) {
  a_.by_hand = true;
  set_.register_all();
  remove_all(Duration{30});
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_EQ(results_[0].state, RegistryState::failed);
  a_.answer(RegistryResult::ok());
  EXPECT_EQ(a_.removed, 1);
  a_.answer(RegistryResult::ok());
  EXPECT_EQ(state(0), RegistryState::deregistered);
}

TEST_F(RegistrySetTest, Registering_again_ends_a_removal_under_way) {
  a_.by_hand = true;
  remove_all();
  set_.register_all();
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(results_[0].state, RegistryState::failed);
  EXPECT_NE(results_[0].last_error.find("superseded"), std::string::npos);
  EXPECT_EQ(a_.hurried, 0) << "a removal that is cut off may still arrive";
  a_.by_hand = false;
  a_.answer(RegistryResult::ok());
  EXPECT_TRUE(both(RegistryState::registered));
}

TEST_F(RegistrySetTest, Two_removals_at_once_end_together) {
  a_.by_hand = true;
  remove_all();
  remove_all();
  a_.answer(RegistryResult::ok());
  EXPECT_TRUE(run_until([&] { return ends_ == 2; }));
  EXPECT_EQ(a_.removed, 1);
}

TEST_F(RegistrySetTest, A_lost_entry_is_registered_again) {
  set_.register_all();
  both(RegistryState::registered);
  a_.lose("lease expired");
  EXPECT_EQ(state(0), RegistryState::registering);
  EXPECT_EQ(changes_.back().last_error, "lease expired");
  ASSERT_TRUE(both(RegistryState::registered));
  EXPECT_EQ(a_.entered, 2);
}

TEST_F(RegistrySetTest, An_entry_lost_during_a_removal_stays_lost) {
  set_.register_all();
  both(RegistryState::registered);
  a_.by_hand = true;
  remove_all();
  a_.lose("lease expired");
  a_.answer(RegistryResult::ok());
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  EXPECT_EQ(a_.entered, 1);
}

TEST_F(RegistrySetTest, For_a_while_only_those_leave_that_can_enter_again) {
  set_.register_all();
  both(RegistryState::registered);
  b_.stays_away = true;
  int left = 0;
  auto const count = [&](std::vector<RegistryStatus> const&) { ++left; };
  set_.deregister_all(in(Duration{20'000}), count, Leaving::for_a_while);
  ASSERT_TRUE(run_until([&] { return left == 1; }));
  EXPECT_EQ(state(0), RegistryState::deregistered);
  EXPECT_EQ(state(1), RegistryState::registered);
  EXPECT_EQ(b_.removed, 0);
  set_.register_all();
  ASSERT_TRUE(both(RegistryState::registered));
  EXPECT_EQ(b_.entered, 1);
  remove_all();
  ASSERT_TRUE(both(RegistryState::deregistered)) << "for good, all of them";
}

TEST_F(RegistrySetTest, An_empty_set_is_done_at_once_but_not_inside_the_call) {
  RegistrySet none(io_.get_executor(), [](RegistryStatus const&) {});
  int ends = 0;
  auto const count = [&](std::vector<RegistryStatus> const&) { ++ends; };
  none.register_all();
  none.deregister_all(in(Duration{20'000}), count);
  none.disconnect_all(in(Duration{20'000}), count);
  EXPECT_EQ(ends, 0);
  EXPECT_TRUE(run_until([&] { return ends == 2; }));
}

TEST_F(RegistrySetTest, One_that_enters_last_waits_for_the_others) {
  a_.enters_last = true;
  b_.failures_to_come = 2;
  b_.by_hand = true;
  set_.register_all();
  run_for(Duration{30});
  EXPECT_EQ(a_.entered, 0);
  EXPECT_EQ(state(0), RegistryState::registering);
  b_.by_hand = false;
  b_.answer(RegistryResult::failed("no route"));
  ASSERT_TRUE(both(RegistryState::registered));
  EXPECT_EQ(a_.entered, 1);
  EXPECT_EQ(b_.entered, 4);
  b_.failures_to_come = 1'000'000;
  b_.lose("lease expired");
  run_for(Duration{20});
  EXPECT_EQ(state(0), RegistryState::registered) << "what is lost later takes nothing back";
}

TEST_F(RegistrySetTest, One_that_waits_for_the_others_leaves_without_having_entered) {
  a_.enters_last = true;
  b_.failures_to_come = 1'000'000;
  set_.register_all();
  ASSERT_TRUE(run_until([&] { return b_.entered >= 2; }));
  b_.failures_to_come = 0;
  remove_all();
  ASSERT_TRUE(both(RegistryState::deregistered));
  EXPECT_EQ(a_.entered, 0);
  EXPECT_EQ(a_.removed, 1);
  set_.register_all();
  ASSERT_TRUE(both(RegistryState::registered));
  EXPECT_EQ(a_.entered, 1);
}

TEST_F(RegistrySetTest, Those_that_enter_last_do_not_wait_for_each_other) {
  a_.enters_last = true;
  b_.enters_last = true;
  set_.register_all();
  EXPECT_TRUE(both(RegistryState::registered));
}

TEST_F(RegistrySetTest, Disconnecting_waits_for_those_that_have_something_to_give_back) {
  a_.disconnects = true;
  set_.disconnect_all(in(Duration{20'000}), [this](auto const&) { ++ends_; });
  run_for(Duration{20});
  EXPECT_EQ(ends_, 0);
  a_.farewell(RegistryResult::ok());
  EXPECT_TRUE(run_until([&] { return ends_ == 1; }));
}

TEST_F(RegistrySetTest, Disconnecting_ends_at_its_deadline) {
  a_.disconnects = true;
  set_.disconnect_all(in(Duration{30}), [this](auto const&) { ++ends_; });
  EXPECT_TRUE(run_until([&] { return ends_ == 1; }));
  a_.farewell(RegistryResult::ok());
  EXPECT_EQ(ends_, 1);
}

TEST_F(RegistrySetTest, Nothing_is_tried_any_more_after_disconnecting) {
  a_.failures_to_come = 1'000'000;
  set_.register_all();
  ASSERT_TRUE(run_until([&] { return a_.entered >= 2; }));
  set_.disconnect_all(in(Duration{20'000}), [this](auto const&) { ++ends_; });
  ASSERT_TRUE(run_until([&] { return ends_ == 1; }));
  auto const attempts = a_.entered;
  run_for(Duration{100});
  EXPECT_EQ(a_.entered, attempts);
}

}  // namespace
}  // namespace lastcall::discovery::test
