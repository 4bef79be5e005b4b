// A loop that runs until something is so.
#pragma once

#include <chrono>
#include <optional>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "discovery/registry.hpp"

namespace lastcall::discovery::test {

class LoopTest : public ::testing::Test {
 protected:
  template <typename Condition>
  bool run_until(Condition condition) {
    auto const give_up = TimePoint::clock::now() + std::chrono::seconds(30);
    while (!condition() && TimePoint::clock::now() < give_up) {
      io_.run_one_for(std::chrono::milliseconds(100));
    }
    return condition();
  }
  void run_for(Duration duration) { io_.run_for(duration); }
  static TimePoint in(Duration duration) { return TimePoint::clock::now() + duration; }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> busy_ =
      boost::asio::make_work_guard(io_);
};

}  // namespace lastcall::discovery::test
