// The order in which sessions are read, if they send more than can be read at once.
#include "ipc/turns.hpp"

#include <chrono>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "ipc/unflushed_outputs.hpp"

namespace lastcall::ipc::test {
namespace {

/// Always has more to read than fits into a slice.
class Endless final : public Reader {
 public:
  explicit Endless(Right right) : right_(right) {}
  Turn take_turn(TimePoint until) override {
    ++turns;
    while (TimePoint::clock::now() < until) {
    }
    return Turn::again;
  }
  Right right() const override { return right_; }

  int turns = 0;

 private:
  Right const right_;
};

class TurnsTest : public testing::Test {
 protected:
  ~TurnsTest() override { turns->clear(); }
  std::shared_ptr<Endless> added(Right right) {
    auto reader = std::make_shared<Endless>(right);
    turns->add(reader);
    return reader;
  }
  void take_slices(int number) {
    for (int i = 0; i < number; ++i) {
      io.run_one();
    }
  }

  boost::asio::io_context io;
  std::shared_ptr<Turns> turns =
      std::make_shared<Turns>(io, std::make_shared<UnflushedOutputs>(io));
};

TEST_F(TurnsTest, Operators_without_end_do_not_keep_others_from_their_turns) {
  for (int i = 0; i < 80; ++i) {  // each of them is late again when its turn comes
    added(Right::of_way);
  }
  auto const newcomer = added(Right::newcomer);
  auto const one_of_the_crowd = added(Right::crowd);
  take_slices(250);
  EXPECT_GE(newcomer->turns, 2);
  EXPECT_GE(one_of_the_crowd->turns, 1);
}

TEST_F(TurnsTest, A_crowd_does_not_keep_the_shim_from_its_turn_for_long) {
  for (int i = 0; i < 200; ++i) {
    added(Right::crowd);
  }
  auto const shim = added(Right::of_way);
  take_slices(60);
  EXPECT_GE(shim->turns, 1);
}

TEST_F(TurnsTest, A_reader_that_waited_for_others_goes_on_at_the_place_it_had) {
  auto const first = added(Right::crowd);
  take_slices(1);  // it comes after the next ones now
  auto const second = added(Right::crowd);
  auto const third = std::make_shared<Endless>(Right::crowd);
  turns->add_at(*second, third);
  added(Right::crowd);
  take_slices(3);
  EXPECT_EQ(first->turns, 2);
  EXPECT_EQ(second->turns, 1);
  EXPECT_EQ(third->turns, 1);
}

TEST_F(TurnsTest, Without_a_crowd_sessions_are_read_in_their_order) {
  auto const engine = added(Right::crowd);
  auto const shim = added(Right::of_way);
  take_slices(1);
  EXPECT_EQ(engine->turns, 1);
  EXPECT_EQ(shim->turns, 0);
}

}  // namespace
}  // namespace lastcall::ipc::test
