#include "router/load_questions.hpp"

#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;

/// It has answered while it had a request.
LoadQuestions answers_at_work() {
  LoadQuestions questions;
  questions.asked(0ms, true);
  questions.answered();
  return questions;
}

TEST(LoadQuestions, One_that_answered_at_work_and_does_not_any_more_is_mute) {
  LoadQuestions questions = answers_at_work();
  questions.asked(100ms, true);
  questions.not_answered(600ms);
  questions.asked(700ms, true);
  questions.not_answered(1099ms);
  EXPECT_FALSE(questions.is_unanswered_for(1s));
  questions.asked(1100ms, true);
  questions.not_answered(1100ms);
  EXPECT_TRUE(questions.is_unanswered_for(1s));
  questions.answered();
  EXPECT_FALSE(questions.is_unanswered_for(1s));
}

TEST(LoadQuestions, One_question_proves_nothing_however_long_it_took) {
  LoadQuestions questions = answers_at_work();
  questions.asked(0ms, true);
  questions.not_answered(1h);
  EXPECT_FALSE(questions.is_unanswered_for(1s));
}

TEST(LoadQuestions, One_that_never_answered_at_work_is_not_mute) {
  LoadQuestions questions;
  questions.asked(0ms, false);
  questions.answered();
  questions.asked(0ms, true);
  questions.request_ended();  // which may be what the answer waited for
  questions.answered();
  for (auto now : {1s, 2s, 3s}) {
    questions.asked(now, true);
    questions.not_answered(now);
  }
  EXPECT_FALSE(questions.is_unanswered_for(1s));
}

TEST(LoadQuestions, Any_answer_ends_it_and_another_process_begins_anew) {
  LoadQuestions questions = answers_at_work();
  questions.asked(0ms, true);
  questions.not_answered(5s);
  questions.receive();
  questions.not_answered(6s);
  EXPECT_FALSE(questions.is_unanswered_for(1s));
  questions.refused();
  for (auto now : {10s, 20s, 30s}) {
    questions.asked(now, true);
    questions.not_answered(now);
  }
  EXPECT_FALSE(questions.is_unanswered_for(1s));
}

}  // namespace
}  // namespace lastcall::router
