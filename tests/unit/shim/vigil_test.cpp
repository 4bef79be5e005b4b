#include "shim/vigil.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "shim/revival.hpp"

namespace lastcall::shim {
namespace {

using Need = Vigil::Need;

Instant second(std::int64_t seconds) {
  return instant_from_ms(1'000'000 + seconds * 1'000);
}

TEST(Vigil, Asks_after_5_s_and_gives_up_20_s_after_its_first_question) {
  Vigil vigil;
  vigil.begin(second(0));
  EXPECT_EQ(vigil.look(second(4)), Need::nothing);
  EXPECT_EQ(vigil.look(second(5)), Need::ask);
  for (int const seconds : {10, 15, 20}) {
    EXPECT_EQ(vigil.look(second(seconds)), Need::nothing) << seconds;
  }
  EXPECT_EQ(vigil.look(second(25)), Need::give_up);
}

TEST(Vigil, A_word_at_any_time_is_an_answer) {
  Vigil vigil;
  vigil.begin(second(0));
  for (int round = 1; round <= 100; ++round) {
    EXPECT_EQ(vigil.look(second(round * 5)), Need::ask) << round;
    vigil.received();
  }
}

TEST(Vigil, A_round_that_the_shim_slept_through_proves_nothing) {
  Vigil vigil;
  vigil.begin(second(0));
  EXPECT_EQ(vigil.look(second(5)), Need::ask);
  EXPECT_EQ(vigil.look(second(1'000)), Need::ask);
  EXPECT_EQ(vigil.look(second(1'005)), Need::nothing);
}

TEST(Vigil, Nobody_to_ask_is_no_silence) {
  Vigil vigil;
  EXPECT_EQ(vigil.look(second(60)), Need::nothing);
  vigil.begin(second(0));
  vigil.end();
  EXPECT_EQ(vigil.next_wake(), std::nullopt);
  EXPECT_EQ(vigil.look(second(60)), Need::nothing);
}

/// The pauses before the next starts of a life that ends so after this long, again and again.
std::vector<std::int64_t> pauses(Ending ending, Duration life, int times) {
  Revival revival;
  std::vector<std::int64_t> all;
  Instant now = second(0);
  for (int i = 0; i < times; ++i) {
    revival.began(now);
    now += life;
    if (!revival.wants(ending, now)) {
      break;
    }
    all.push_back((*revival.next_wake() - now).count());
    now = *revival.next_wake();
  }
  return all;
}

TEST(Revival, First_crash_costs_nothing_and_the_next_ones_a_growing_pause) {
  std::vector<std::int64_t> const growing{0, 100, 200, 400, 800, 1'600, 3'200, 5'000, 5'000};
  EXPECT_EQ(pauses({.code = 1, .signal = 0}, Duration{10}, 9), growing);
  EXPECT_EQ(pauses({.code = 0, .signal = 9}, Duration{10}, 9), growing);
  EXPECT_EQ(pauses({.code = 1, .signal = 0}, Duration{10'000}, 3),
            (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(Revival, Codes_0_and_2_are_no_crash) {
  EXPECT_TRUE(pauses({.code = 0, .signal = 0}, Duration{10}, 3).empty());
  EXPECT_TRUE(pauses({.code = 2, .signal = 0}, Duration{10}, 3).empty());
}

TEST(Revival, A_supervisor_that_was_asked_to_end_is_not_started_again) {
  Revival revival;
  revival.began(second(0));
  EXPECT_FALSE(revival.give_up()) << "it runs, and ends by itself";
  EXPECT_FALSE(revival.wants({.code = 1, .signal = 0}, second(1)));
  Revival waiting;
  waiting.began(second(0));
  EXPECT_TRUE(waiting.wants({.code = 1, .signal = 0}, second(1)));
  EXPECT_TRUE(waiting.give_up()) << "there is nobody to forward a signal to";
  EXPECT_FALSE(waiting.is_due(second(100)));
}

}  // namespace
}  // namespace lastcall::shim
