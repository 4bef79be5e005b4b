#include "router/waiting_room.hpp"

#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace lastcall::router {
namespace {

struct Waiting final : Waiter {
  Waiting(std::vector<int>& tried, int number) : tried_(tried), number_(number) {}
  Tried try_again() override {
    tried_.push_back(number_);
    return says;
  }
  Tried says = Tried::gone;

 private:
  std::vector<int>& tried_;
  int const number_;
};

class WaitingRoomTest : public testing::Test {
 protected:
  void enter(Waiter& waiter, LegWork::Kind kind, std::uint64_t tokens) {
    room.enter(waiter, "m", {kind, tokens});
  }
  void turn() {
    std::size_t const before = tried.size();
    room.wake();
    while (tried.size() == before) {
      io.run_one();
    }
  }
  boost::asio::io_context io;
  std::vector<std::size_t> sizes;
  WaitingRoom room{io, [this](std::size_t size) { sizes.push_back(size); }};
  std::vector<int> tried;
  Waiting one{tried, 1}, two{tried, 2}, three{tried, 3}, four{tried, 4};
};

TEST_F(WaitingRoomTest, Those_that_go_on_try_first_and_the_smallest_before) {
  enter(one, LegWork::Kind::hands_over, 1);
  enter(two, LegWork::Kind::suspect, 9);
  enter(three, LegWork::Kind::continues, 7);
  enter(four, LegWork::Kind::continues, 5);
  turn();
  EXPECT_EQ(tried, (std::vector{4, 3, 2, 1}));
}

TEST_F(WaitingRoomTest, How_many_wait_is_reported_also_when_one_has_found_a_place) {
  enter(one, LegWork::Kind::continues, 1);
  enter(two, LegWork::Kind::continues, 2);
  two.says = Waiter::Tried::refused;
  turn();
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 2, 1}));
  room.leave(two);
  room.leave(two);
  EXPECT_EQ(sizes.back(), 0U);
  EXPECT_EQ(sizes.size(), 4U);
}

TEST_F(WaitingRoomTest, Nobody_else_tries_while_one_that_continues_waits) {
  for (Waiting* each : {&one, &two, &three}) {
    each->says = Waiter::Tried::refused;
  }
  enter(one, LegWork::Kind::continues, 1);
  enter(two, LegWork::Kind::suspect, 1);
  enter(three, LegWork::Kind::suspect, 2);  // of which one waits before it
  enter(four, LegWork::Kind::hands_over, 1);
  turn();
  EXPECT_EQ(tried, (std::vector{1}));
  room.leave(one);
  turn();
  EXPECT_EQ(tried, (std::vector{1, 2, 3, 4}));
}

TEST_F(WaitingRoomTest, One_without_room_ends_the_turn_of_its_kind_alone) {
  one.says = two.says = three.says = Waiter::Tried::no_room;
  enter(one, LegWork::Kind::suspect, 1);
  enter(two, LegWork::Kind::suspect, 2);
  enter(three, LegWork::Kind::hands_over, 1);
  enter(four, LegWork::Kind::hands_over, 2);
  turn();
  EXPECT_EQ(tried, (std::vector{1, 3}));
}

}  // namespace
}  // namespace lastcall::router
