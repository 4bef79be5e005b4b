#include "supervisor/kube/fleet.hpp"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastcall::kube {
namespace {

using testing::ElementsAre;

StopReport report(std::string text, std::uint64_t completed, std::uint64_t lost = 0) {
  StopReport made{.text = std::move(text), .cause = "signal", .is_known = true};
  made.requests.at(static_cast<std::size_t>(lifecycle::Outcome::completed)) = completed;
  made.requests.at(static_cast<std::size_t>(lifecycle::Outcome::lost)) = lost;
  return made;
}

Pod pod(std::string const& name) {
  return {.name = name, .uid = "uid-" + name, .has_run = true};
}

Pod ended(std::string const& name, StopReport last) {
  Pod made = pod(name);
  made.is_ending = true;
  made.final_reports.push_back(std::move(last));
  return made;
}

TEST(Fleet, A_report_that_was_there_at_the_begin_is_not_counted) {
  Fleet fleet;
  Pod old = pod("a");
  old.earlier_reports.push_back(report("old", 9));
  fleet.begin({old});
  Pod last = ended("a", report("new", 4));
  last.earlier_reports = old.earlier_reports;
  EXPECT_TRUE(fleet.end(last));
  EXPECT_FALSE(fleet.end(last));
  EXPECT_EQ(to_text(fleet.verdict()), "1 pod, 4 requests: 4 completed, 0 migrated, 0 lost");
  EXPECT_TRUE(fleet.verdict().is_good());
}

TEST(Fleet, A_pod_that_ended_in_silence_is_unknown_until_its_event_is_found) {
  Fleet fleet;
  fleet.begin({pod("a"), pod("b")});
  fleet.end(pod("a"));
  EXPECT_THAT(fleet.verdict().unknown, ElementsAre("a"));
  EXPECT_FALSE(fleet.verdict().is_good());
  ASSERT_EQ(fleet.silent().size(), 1U);
  fleet.add("uid-a", report("event", 2));
  EXPECT_TRUE(fleet.silent().empty());
  EXPECT_TRUE(fleet.verdict().is_good());
}

TEST(Fleet, A_pod_of_which_nothing_ever_ran_is_not_counted) {
  Fleet fleet;
  Pod idle = pod("a");
  idle.has_run = false;
  fleet.begin({idle});
  fleet.end(idle);
  EXPECT_EQ(fleet.verdict().pods, 0U);
  EXPECT_EQ(fleet.verdict().never_ran, 1U);
  EXPECT_TRUE(fleet.verdict().is_good());
}

TEST(Fleet, A_pod_that_is_missing_in_a_new_list_has_ended) {
  Fleet fleet;
  fleet.begin({pod("a"), pod("b")});
  std::vector<Pod> const gone = fleet.replace({pod("b"), pod("c")});
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].name, "a");
  EXPECT_TRUE(fleet.replace({pod("b"), pod("c")}).empty());
  EXPECT_TRUE(fleet.is_level_with({pod("b"), pod("c")}));
  EXPECT_FALSE(fleet.is_level_with({pod("b")}));
  EXPECT_TRUE(fleet.is_any_left_of_the_begin());
}

TEST(Fleet, Lost_requests_are_reported_and_no_success) {
  Fleet fleet;
  fleet.begin({pod("a")});
  fleet.end(ended("a", report("new", 4, 2)));
  EXPECT_FALSE(fleet.verdict().is_good());
  EXPECT_EQ(to_text(fleet.verdict()), "1 pod, 6 requests: 4 completed, 0 migrated, 2 lost");
}

}  // namespace
}  // namespace lastcall::kube
