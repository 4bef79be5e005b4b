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

TEST(LoadQuestions, OneThatAnsweredAtWorkAndDoesNotAnyMoreIsMute) {
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

TEST(LoadQuestions, OneQuestionProvesNothingHoweverLongItTook) {
  LoadQuestions questions = answers_at_work();
  questions.asked(0ms, true);
  questions.not_answered(1h);
  EXPECT_FALSE(questions.is_unanswered_for(1s));
}

TEST(LoadQuestions, OneThatNeverAnsweredAtWorkIsNotMute) {
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

TEST(LoadQuestions, AnyAnswerEndsItAndAnotherProcessBeginsAnew) {
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
