#include "ingress/poller.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace lastcall::ingress {
namespace {

using namespace std::chrono_literals;

/// Takes that long for everything.
class Busy final : public Watched {
 public:
  explicit Busy(Poller::Duration needs) : needs_(needs) {}
  ~Busy() override { ::close(descriptor); }
  void ready(std::uint32_t) override {
    auto const end = std::chrono::steady_clock::now() + needs_;
    while (std::chrono::steady_clock::now() < end) {
    }
    ++times;
  }
  std::string_view kind() const override { return "busy"; }

  int const descriptor = ::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  int times = 0;

 private:
  Poller::Duration const needs_;
};

struct Told {
  std::string kind;
  Poller::Duration took;
};

class PollerTest : public ::testing::Test {
 protected:
  void run_until_served(Busy const& busy, int times) {
    while (busy.times < times) {
      io.run_one();
    }
  }

  boost::asio::io_context io;
  std::vector<Told> told;
  Poller poller{io, [this](std::string_view kind, Poller::Duration took) {
                  told.push_back({std::string(kind), took});
                }};
};

TEST_F(PollerTest, A_socket_that_takes_longer_than_bearable_is_told_by_its_kind) {
  Busy busy(2 * Poller::kBearable);
  ASSERT_TRUE(poller.add(busy.descriptor, busy));
  run_until_served(busy, 1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, "busy");
  EXPECT_GE(told[0].took, 2 * Poller::kBearable);
}

TEST_F(PollerTest, A_turn_that_was_asked_for_is_timed_like_any_other) {
  Busy busy(2 * Poller::kBearable);
  poller.again(busy);
  run_until_served(busy, 1);
  EXPECT_EQ(told.size(), 1U);
}

/// Each is timed by itself: those before it in a turn are not its own time.
TEST_F(PollerTest, What_others_took_in_a_turn_is_not_added_up) {
  std::vector<std::unique_ptr<Busy>> crowd;
  for (int i = 0; i < 20; ++i) {
    crowd.push_back(std::make_unique<Busy>(Poller::kBearable / 5));
    ASSERT_TRUE(poller.add(crowd.back()->descriptor, *crowd.back()));
  }
  for (auto const& one : crowd) {
    run_until_served(*one, 1);
  }
  EXPECT_LT(told.size(), crowd.size() / 2);  // a machine without a processor may delay some of them
}

}  // namespace
}  // namespace lastcall::ingress
