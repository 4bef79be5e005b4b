// Readiness in real loops, of socket pairs, and how long each is served.
#include "ingress/poller.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace lastcall::ingress {
namespace {

using namespace std::chrono_literals;

/// Takes this long for everything.
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

struct Notified {
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
  std::vector<Notified> slow;
  Poller poller{io, [this](std::string_view kind, Poller::Duration took) {
                  slow.push_back({std::string(kind), took});
                }};
};

TEST_F(PollerTest, A_socket_that_takes_longer_than_bearable_is_reported_by_its_kind) {
  Busy busy(2 * Poller::kBearable);
  ASSERT_TRUE(poller.add(busy.descriptor, busy));
  run_until_served(busy, 1);
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].kind, "busy");
  EXPECT_GE(slow[0].took, 2 * Poller::kBearable);
}

TEST_F(PollerTest, A_turn_that_was_asked_for_is_timed_like_any_other) {
  Busy busy(2 * Poller::kBearable);
  poller.again(busy);
  run_until_served(busy, 1);
  EXPECT_EQ(slow.size(), 1U);
}

/// Each is timed by itself: those before it in a turn are not its own time.
TEST_F(PollerTest, Time_that_others_took_in_a_turn_is_not_added_up) {
  std::vector<std::unique_ptr<Busy>> crowd;
  for (int i = 0; i < 20; ++i) {
    crowd.push_back(std::make_unique<Busy>(Poller::kBearable / 5));
    ASSERT_TRUE(poller.add(crowd.back()->descriptor, *crowd.back()));
  }
  for (auto const& one : crowd) {
    run_until_served(*one, 1);
  }
  EXPECT_LT(slow.size(), crowd.size() / 2);  // a machine without a processor may delay some of them
}

/// One that is served reads the time as often as it likes, and all of it is that of its turn.
TEST_F(PollerTest, In_a_turn_it_is_the_time_at_which_it_came_and_outside_the_clocks) {
  struct Reader final : Watched {
    explicit Reader(Poller& one) : poller(one) {}
    void ready(std::uint32_t) override {
      came_at = poller.now();
      while (monotonic_time() <= came_at + 1ms) {
      }
      later = poller.now();
      poller.remove(descriptor.get());
    }
    std::string_view kind() const override { return "reader"; }
    Poller& poller;
    Descriptor const descriptor{::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)};
    std::chrono::milliseconds came_at{};
    std::chrono::milliseconds later{};
  } reader(poller);
  auto const before = monotonic_time();
  ASSERT_TRUE(poller.add(reader.descriptor.get(), reader));
  while (reader.later.count() == 0) {
    io.run_one();
  }
  EXPECT_GE(reader.came_at, before);
  EXPECT_EQ(reader.later, reader.came_at);
  EXPECT_GT(poller.now(), reader.came_at + 1ms);
}

/// An event and an earlier request for another turn serve a socket in the same turn; if each of
/// them left a request of its own, their number would grow as long as bytes arrive.
TEST_F(PollerTest, However_often_another_turn_is_requested_it_is_one) {
  Busy busy(0ms);
  poller.again(busy);
  poller.again(busy);
  bool is_over = false;
  boost::asio::post(io, [&] { is_over = true; });
  while (!is_over) {
    io.run_one();
  }
  EXPECT_EQ(busy.times, 1);
}

/// Each wants more turns without end, as a socket does whose client sends faster than it is read.
TEST_F(PollerTest, Sockets_that_always_want_another_turn_leave_the_loop_its_time) {
  struct Greedy final : Watched {
    explicit Greedy(Poller& one) : poller(one) {}
    void ready(std::uint32_t) override {
      auto const end = std::chrono::steady_clock::now() + Poller::kBearable / 5;
      while (std::chrono::steady_clock::now() < end) {
      }
      ++times;
      poller.again(*this);
    }
    std::string_view kind() const override { return "greedy"; }
    Poller& poller;
    int times = 0;
  };
  std::vector<std::unique_ptr<Greedy>> crowd;
  for (int i = 0; i < 60; ++i) {
    crowd.push_back(std::make_unique<Greedy>(poller));
    poller.again(*crowd.back());
  }
  int turns = 0;
  std::function<void()> const other = [&] {
    if (++turns < 100) {
      boost::asio::post(io, other);
    }
  };
  boost::asio::post(io, other);
  while (turns < 100) {
    io.run_one();
  }
  int served = 0;
  for (auto const& one : crowd) {
    EXPECT_GT(one->times, 0);  // no other one takes its turn
    served += one->times;
  }
  EXPECT_LE(served, 6 * 100);
}

/// Outside of a turn a socket has one read.
TEST_F(PollerTest, A_share_is_used_up_by_reads_or_by_time) {
  struct Reader final : Watched {
    explicit Reader(Poller& one) : poller(one) {}
    void ready(std::uint32_t) override {
      is_first_free = !poller.is_share_used(0);
      auto const end = std::chrono::steady_clock::now() + Poller::kBearable;
      while (std::chrono::steady_clock::now() < end) {
      }
      is_used_by_time = poller.is_share_used(1);
      was_served = true;
    }
    std::string_view kind() const override { return "reader"; }
    Poller& poller;
    bool is_first_free = false;
    bool is_used_by_time = false;
    bool was_served = false;
  } reader(poller);
  poller.again(reader);
  while (!reader.was_served) {
    io.run_one();
  }
  EXPECT_TRUE(reader.is_first_free);
  EXPECT_TRUE(reader.is_used_by_time);
  EXPECT_FALSE(poller.is_share_used(0));
  EXPECT_TRUE(poller.is_share_used(16));
}

class Pair final : public Watched {
 public:
  using Heard = std::function<void(Pair&, std::uint32_t)>;
  explicit Pair(Heard received) : heard_(std::move(received)) {
    constexpr int kKind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    EXPECT_EQ(::socketpair(AF_UNIX, kKind, 0, ends_.data()), 0);
  }
  ~Pair() override {
    ::close(ends_[0]);
    hang_up();
  }
  void ready(std::uint32_t events) override { heard_(*this, events); }
  std::string_view kind() const override { return "pair"; }
  int fd() const { return ends_[0]; }
  void say() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void hang_up() {
    if (ends_[1] >= 0) {
      ::close(std::exchange(ends_[1], -1));
    }
  }
  void listen() const {
    char byte = 0;
    EXPECT_EQ(::read(fd(), &byte, 1), 1);
  }

 private:
  Heard heard_;
  std::array<int, 2> ends_{-1, -1};
};

/// A machine without a free processor is slow, which does not matter here.
Poller::OnSlow nobody() {
  return [](std::string_view, Poller::Duration) {};
}

TEST(Poller, Ends_come_before_everything_else_of_a_turn) {
  boost::asio::io_context io(1);
  Poller poller(io, nobody());
  std::string order;
  Pair talks([&](Pair&, std::uint32_t events) {
    if ((events & EPOLLIN) != 0) {
      order += "talks ";
      io.stop();
    }
  });
  Pair ends([&](Pair&, std::uint32_t events) {
    if ((events & EPOLLRDHUP) != 0) {
      order += "ends ";
    }
  });
  ASSERT_TRUE(poller.add(talks.fd(), talks));
  ASSERT_TRUE(poller.add(ends.fd(), ends));
  io.poll();  // both can be written to
  talks.say();
  ends.hang_up();
  io.run();
  EXPECT_EQ(order, "ends talks ");
  poller.remove(talks.fd());
  poller.remove(ends.fd());
}

TEST(Poller, Events_that_do_not_fit_into_a_turn_come_in_the_next_one) {
  constexpr int kMany = 600;
  boost::asio::io_context io(1);
  Poller poller(io, nobody());
  int received = 0;
  std::vector<std::unique_ptr<Pair>> pairs;
  for (int i = 0; i < kMany; ++i) {
    pairs.push_back(std::make_unique<Pair>([&](Pair&, std::uint32_t events) {
      received += (events & EPOLLIN) != 0 ? 1 : 0;
      if (received == kMany) {
        io.stop();
      }
    }));
    pairs.back()->say();
    ASSERT_TRUE(poller.add(pairs.back()->fd(), *pairs.back()));
  }
  io.run();
  EXPECT_EQ(received, kMany);
  for (auto const& pair : pairs) {
    poller.remove(pair->fd());
  }
}

TEST(Poller, Events_that_come_later_are_received_too) {
  boost::asio::io_context io(1);
  Poller poller(io, nobody());
  int received = 0;
  Pair pair([&](Pair& self, std::uint32_t events) {
    if ((events & EPOLLIN) == 0) {
      return;
    }
    self.listen();
    if (++received == 100) {
      io.stop();
    } else if (received % 2 == 0) {
      self.say();  // within the turn
    } else {
      boost::asio::post(io, [&self] { self.say(); });  // after it
    }
  });
  ASSERT_TRUE(poller.add(pair.fd(), pair));
  pair.say();
  io.run();
  EXPECT_EQ(received, 100);
  poller.remove(pair.fd());
}

class Grave final : public Buried {
 public:
  explicit Grave(bool& is_freed) : is_freed_(is_freed) {}
  ~Grave() override { is_freed_ = true; }

 private:
  bool& is_freed_;
};

TEST(Poller, A_socket_closed_in_a_turn_is_freed_at_its_end_before_the_loop_looks_again) {
  boost::asio::io_context io(1);
  Poller poller(io, nobody());
  bool is_freed = false;
  bool was_freed_first = false;
  Pair pair([&](Pair& self, std::uint32_t events) {
    if ((events & EPOLLIN) == 0) {
      return;
    }
    self.listen();
    boost::asio::post(io, [&] {
      was_freed_first = is_freed;
      io.stop();
    });
    poller.bury_unwatched(std::make_unique<Grave>(is_freed));
    EXPECT_FALSE(is_freed) << "events of the same turn may find it";
  });
  ASSERT_TRUE(poller.add(pair.fd(), pair));
  pair.say();
  io.run();
  EXPECT_TRUE(was_freed_first);
  poller.remove(pair.fd());
}

TEST(Poller, A_socket_closed_outside_of_a_turn_is_freed_later) {
  boost::asio::io_context io(1);
  Poller poller(io, nobody());
  bool is_freed = false;
  poller.bury_unwatched(std::make_unique<Grave>(is_freed));
  EXPECT_FALSE(is_freed);
  io.poll();
  EXPECT_TRUE(is_freed);
}

TEST(Poller, It_keeps_its_loop_running_as_long_as_it_lives) {
  boost::asio::io_context io(1);
  auto poller = std::make_unique<Poller>(io, nobody());
  io.poll();
  EXPECT_FALSE(io.stopped());
  boost::asio::post(io, [&] { poller.reset(); });
  io.run();
  EXPECT_TRUE(io.stopped());
}

TEST(Poller, It_may_go_while_something_waits_for_its_next_turn) {
  boost::asio::io_context io(1);
  auto poller = std::make_unique<Poller>(io, nobody());
  Pair pair([](Pair&, std::uint32_t) { ADD_FAILURE() << "it has gone"; });
  poller->again(pair);
  poller.reset();
  io.run();
}

}  // namespace
}  // namespace lastcall::ingress
