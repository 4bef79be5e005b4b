#include "base/once_per_turn.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall {
namespace {

struct Turns {
  std::vector<std::function<void()>> posted;

  void run() {
    for (auto const& call : std::exchange(posted, {})) {
      call();
    }
  }
};

void post(Turns& turns, std::function<void()> call) {
  turns.posted.push_back(std::move(call));
}

TEST(OncePerTurn, Many_requests_of_one_turn_are_one_call) {
  Turns turns;
  int calls = 0;
  OncePerTurn<Turns> work(turns, [&] { ++calls; });
  work.request();
  work.request();
  EXPECT_TRUE(work.is_due());
  EXPECT_EQ(calls, 0);
  turns.run();
  EXPECT_FALSE(work.is_due());
  EXPECT_EQ(calls, 1);
}

TEST(OncePerTurn, A_request_during_the_call_is_for_another_turn) {
  Turns turns;
  int calls = 0;
  std::optional<OncePerTurn<Turns>> work;
  work.emplace(turns, [&] {
    if (++calls == 1) {
      work->request();
    }
  });
  work->request();
  turns.run();
  EXPECT_EQ(calls, 1);
  turns.run();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(turns.posted.empty());
}

TEST(OncePerTurn, A_turn_that_comes_after_its_end_does_nothing) {
  Turns turns;
  int calls = 0;
  std::optional<OncePerTurn<Turns>> work(std::in_place, turns, [&] { ++calls; });
  work->request();
  work.reset();
  turns.run();
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace lastcall
