#include "ingress/seats.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::ingress {
namespace {

struct Guest : Seated {
  explicit Guest(int which) : number(which) {}
  int const number;
};

std::vector<int> numbers(Seats<Guest> const& seats) {
  std::vector<int> found;
  for (auto const& guest : seats) {
    found.push_back(guest->number);
  }
  return found;
}

TEST(Seats, The_last_one_moves_to_a_seat_that_was_left_and_can_be_taken_out_there) {
  Seats<Guest> seats;
  for (int number : {1, 2, 3, 4}) {
    seats.add(std::make_unique<Guest>(number));
  }
  Guest const& last = seats[3];
  EXPECT_EQ(seats.take_out(seats[1])->number, 2);
  EXPECT_EQ(numbers(seats), (std::vector{1, 4, 3}));
  EXPECT_EQ(seats.take_out(last)->number, 4);
  EXPECT_EQ(numbers(seats), (std::vector{1, 3}));
}

TEST(Seats, The_last_one_can_be_taken_out_and_another_one_gets_its_seat) {
  Seats<Guest> seats;
  seats.add(std::make_unique<Guest>(1));
  EXPECT_EQ(seats.take_out(seats[0])->number, 1);
  EXPECT_EQ(seats.size(), 0U);
  seats.add(std::make_unique<Guest>(2));
  EXPECT_EQ(numbers(seats), std::vector{2});
}

}  // namespace
}  // namespace lastcall::ingress
