#include "router/continuation/fitting.hpp"

#include <gtest/gtest.h>

namespace lastcall::router::continuation {
namespace {

using namespace std::chrono_literals;

Pace const kPace{.since = 1000ms, .made = 1};

TEST(Fitting, An_answer_without_a_limit_does_not_fit) {
  EXPECT_FALSE(fits(kPace, {.made = 11, .most = {}, .now = 1100ms, .cut_at = 1h}));
}

TEST(Fitting, The_rest_may_take_three_quarters_of_the_time) {
  // 10 ms a token, 300 to come: 3 s; kForAMove and 4 s are needed for that.
  Stretch left{.made = 101, .most = 401, .now = 2000ms, .cut_at = 6500ms};
  EXPECT_TRUE(fits(kPace, left));
  left.cut_at -= 1ms;
  EXPECT_FALSE(fits(kPace, left));
}

TEST(Fitting, A_silence_is_a_slower_pace) {
  Stretch left{.made = 101, .most = 201, .now = 2000ms, .cut_at = 10'000ms};
  ASSERT_TRUE(fits(kPace, left));
  Time const until = fits_until(kPace, left);
  EXPECT_LT(until, left.cut_at - kForAMove);
  left.now = until - 2ms;
  EXPECT_TRUE(fits(kPace, left));
  left.now = until;
  EXPECT_FALSE(fits(kPace, left));
}

TEST(Fitting, A_first_token_alone_shows_no_pace) {
  Stretch left{.made = 1, .most = 1000, .now = 1000ms, .cut_at = 10'000ms};
  EXPECT_TRUE(fits(kPace, left));
  left.now = fits_until(kPace, left);
  EXPECT_LT(left.now, 1010ms);
  EXPECT_FALSE(fits(kPace, left));
}

TEST(Fitting, An_answer_that_is_complete_fits_to_the_last) {
  Stretch const left{.made = 50, .most = 50, .now = 9000ms, .cut_at = 9600ms};
  EXPECT_TRUE(fits(kPace, left));
  EXPECT_LE(fits_until(kPace, left), left.cut_at);
}

/// A worker that drains, at the pace of `step` a token and from the `slow`th on three times that.
struct Drained {
  bool was_left = true;
  bool was_whole = true;
  Time moved_before_cut{};
};

Drained drain(std::uint64_t most, Time step, std::uint64_t slow, Time cut_at) {
  Pace const pace{.since = 0ms, .made = 1};
  Time now{};
  for (std::uint64_t made = 1; made < most;) {
    Time const next = now + (made < slow ? step : 3 * step);
    Stretch const left{.made = made, .most = most, .now = now, .cut_at = cut_at};
    if (!fits(pace, left) || fits_until(pace, left) < next) {
      Time const at = fits(pace, left) ? fits_until(pace, left) : now;
      return {.was_left = false, .was_whole = false, .moved_before_cut = cut_at - at};
    }
    now = next;
    ++made;
  }
  return {.was_left = true, .was_whole = now < cut_at};
}

TEST(Fitting, On_virtual_time_no_stream_that_is_left_is_cut) {
  unsigned left = 0;
  unsigned late = 0;
  for (std::uint64_t most = 2; most < 400; most += 7) {
    for (Time step : {1ms, 7ms, 20ms, 90ms}) {
      for (std::uint64_t const slow : {std::uint64_t{0}, most / 3, most / 2, most}) {
        for (Time const cut_at : {600ms, 2000ms, 10'000ms, 60'000ms}) {
          Drained const drained = drain(most, step, slow, cut_at);
          ASSERT_TRUE(drained.was_whole || !drained.was_left) << most << " of " << step.count();
          ASSERT_TRUE(drained.was_left || drained.moved_before_cut >= kForAMove - 1ms);
          left += drained.was_left ? 1 : 0;
          late += drained.was_left || drained.moved_before_cut == cut_at ? 0 : 1;
        }
      }
    }
  }
  EXPECT_GT(left, 1000U);
  EXPECT_GT(late, 500U);
}

}  // namespace
}  // namespace lastcall::router::continuation
