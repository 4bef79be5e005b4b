#include "router/attempts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Attempts, Counts_the_workers_that_were_asked_until_one_answers) {
  Worker const a(1, {"a", "m"}), b(2, {"b", "m"});
  Attempts attempts;
  EXPECT_THAT(attempts.tried(), IsEmpty());
  attempts.note(a);
  EXPECT_TRUE(attempts.are_left(2));
  attempts.note(b);
  EXPECT_FALSE(attempts.are_left(2));
  EXPECT_THAT(attempts.tried(), ElementsAre(1, 2));
  attempts.ask_all();
  EXPECT_TRUE(attempts.are_left(2));
  attempts.note_crossed(b);
  EXPECT_TRUE(attempts.has_crossed(b));
  EXPECT_FALSE(attempts.has_crossed(a));
  attempts.have_ended();
  EXPECT_FALSE(attempts.has_crossed(b));
  EXPECT_EQ(attempts.count(), 0U);
}

TEST(Attempts, A_request_that_has_failed_a_worker_stays_doubted_whatever_workers_answer) {
  Worker const a(1, {"a", "m"});
  Attempts attempts;
  attempts.note(a);
  EXPECT_FALSE(attempts.is_believed());
  attempts.have_ended();
  EXPECT_EQ(attempts.count(), 0U);
  EXPECT_TRUE(attempts.is_believed());
}

TEST(Attempts, An_answer_that_goes_on_asks_all_but_the_worker_that_it_leaves) {
  Worker const a(1, {"a", "m"}), b(2, {"b", "m"});
  Attempts attempts;
  EXPECT_FALSE(attempts.may_wait(0ms));
  attempts.note(a);
  attempts.note(b);
  attempts.begin_again(b, 10ms);
  EXPECT_THAT(attempts.tried(), ElementsAre(2));
  EXPECT_TRUE(attempts.may_wait(9ms));
  EXPECT_FALSE(attempts.may_wait(10ms));
}

}  // namespace
}  // namespace lastcall::router
