#include "supervisor/runtime/loop/slow_steps.hpp"

#include <utility>

namespace lastcall::runtime {

void SlowSteps::took(std::string_view event, Clock::time_point began, Clock::time_point ended) {
  if (ended - began <= kBearable) {
    return;
  }
  count_(event);
  if (logged_at_ && ended - *logged_at_ < kPause) {
    ++passed_over_;
    return;
  }
  logged_at_ = ended;
  log_.warning(
      "a step of the loop was slow",
      {{"event", event},
       {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(ended - began).count()},
       {"not_logged", std::exchange(passed_over_, 0)}});
}

}  // namespace lastcall::runtime
