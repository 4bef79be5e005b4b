#include "router/alarms.hpp"

#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "ingress/poller.hpp"

namespace lastcall::router {
namespace {

using namespace std::chrono_literals;

struct Sleeping final : Sleeper {
  Sleeping(std::vector<int>& rung, int number) : rung_(rung), number_(number) {}
  void alarm_rings() override { rung_.push_back(number_); }

 private:
  std::vector<int>& rung_;
  int const number_;
};

TEST(Alarms, Ring_in_their_order_once_and_not_when_they_were_cleared) {
  boost::asio::io_context io;
  Alarms alarms(io);
  std::vector<int> rung;
  Sleeping one(rung, 1);
  Sleeping two(rung, 2);
  Sleeping three(rung, 3);
  Time const now = monotonic_time();
  alarms.set(three, now + 1ms);
  alarms.set(one, now + 3ms);
  alarms.set(two, now + 2ms);
  alarms.set(one, now + 1ms);  // in place of the other
  alarms.clear(three);
  io.run();
  EXPECT_EQ(rung, (std::vector{1, 2}));
  alarms.clear(one);
}

}  // namespace
}  // namespace lastcall::router
