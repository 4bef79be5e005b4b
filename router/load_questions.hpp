// Records whether a worker still answers load questions. A missing answer is the only sign of a
// frozen engine while all of its requests are unary.
//
// Rules:
//  1. Only a worker that has answered while it had a request counts: a server that computes on its
//     listening thread never answers while it works.
//  2. If a request ends between the question and the answer, it is unknown whether the answer came
//     during the work or after it, so it does not count.
//  3. One question without an answer proves nothing (the router itself may have hung), and a
//     worker that refuses the connection starts from zero, because it is another process.
//
// Pure: time is an argument. No thread rule. Source: docs/router.md, 'Migration'.
#pragma once

#include <chrono>
#include <optional>

namespace lastcall::router {

class LoadQuestions {
 public:
  using Time = std::chrono::milliseconds;

  void asked(Time now, bool works) {
    asked_at_ = now;
    has_worked_ = works;
  }
  void request_ended() { has_worked_ = false; }
  void answered() {
    answers_at_work_ = answers_at_work_ || has_worked_;
    receive();
  }
  /// The worker has sent something that is not an answer, or it is unknown whether it has.
  void receive() { unanswered_ = 0; }
  void refused() { *this = {}; }
  void not_answered(Time now) {
    first_asked_at_ = unanswered_ == 0 ? asked_at_ : first_asked_at_;
    ++unanswered_;
    last_waited_until_ = now;
  }

  /// Whether the worker has not answered for this long although a live one would have.
  bool is_unanswered_for(Time time) const {
    return answers_at_work_ && unanswered_ > 1 && last_waited_until_ - first_asked_at_ >= time;
  }

 private:
  Time asked_at_{};
  Time first_asked_at_{};  // of the questions that are unanswered since
  Time last_waited_until_{};
  unsigned unanswered_ = 0;  // in a row
  bool has_worked_ = false;  // without a pause since the last question
  bool answers_at_work_ = false;
};

}  // namespace lastcall::router
