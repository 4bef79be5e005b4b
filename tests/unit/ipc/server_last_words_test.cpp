// What processes have sent before they end, or before they connect again, and who waits for it.
#include <map>
#include <utility>

#include <poll.h>
#include <sys/wait.h>

#include "tests/unit/ipc/server_fixture.hpp"

namespace lastcall::ipc::test {
namespace {

constexpr char const* kHelloOfOne = R"({"op":"hello","version":1,"role":"engine","name":"e"})";
constexpr char const* kHelloAgain =
    R"({"op":"hello","version":1,"role":"engine","name":"again","live":1})";
constexpr char const* kHelloOfTheShim =
    R"({"op":"hello","version":1,"role":"shim","boot":"b","engine":{"state":"waiting"}})";

std::string lines(std::size_t number) {
  std::string all;
  for (std::size_t i = 0; i < number; ++i) {
    all += "{\"op\":\"cleanup.done\"}\n";
  }
  return all;
}

/// By default, what a line costs in a slow build.
void be_slow(std::chrono::microseconds time = std::chrono::microseconds(100)) {
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// A process with connections. It goes on when it is asked to, and ends.
class Process {
 public:
  using Connections = std::deque<RawClient>;

  Process(std::string const& path, std::size_t connections,
          std::function<void(Connections&)> last_act) {
    EXPECT_EQ(::pipe(go_), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(go_[1]);
      Connections all;
      for (std::size_t i = 0; i < connections; ++i) {
        all.emplace_back(path);
        all.back().say(kHelloOfOne);
      }
      char byte = 0;
      (void)::read(go_[0], &byte, 1);
      last_act(all);
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    ::close(go_[0]);
  }
  ~Process() { end(); }

  /// Lets it do its last act, and waits for its end.
  void end() {
    if (child_ > 0) {
      ::close(go_[1]);
      int status = 0;
      EXPECT_EQ(::waitpid(child_, &status, 0), child_);
      EXPECT_EQ(status, 0);
      child_ = -1;
    }
  }

 private:
  int go_[2]{};
  pid_t child_{-1};
};

class LastWordsTest : public ServerTest {
 protected:
  static constexpr std::size_t kCrowd = 48;
  static constexpr std::size_t kLines = 1'500;

  LastWordsTest() { options_.max_of_process = 64; }

  RawClient shim() {
    RawClient client(options_.engine_socket);
    client.say(kHelloOfTheShim);
    EXPECT_TRUE(answer(client).starts_with(R"({"op":"welcome")"));
    return client;
  }
  bool is_watched() {
    PeerInfo const* const info = server_->info(observer_.peers.back());
    return info != nullptr && info->watched;
  }
  bool have_greeted(std::size_t number) {
    return until([&] { return observer_.hellos.size() == number; });
  }
  /// The shim sends a line once `after` others were delivered; returns how many more of them were
  /// delivered before it.
  std::size_t lines_before_the_shim(RawClient& shim, PeerId its_id, std::size_t after = 0) {
    std::size_t others = 0;
    bool is_heard = false;
    auto const ask = [&] {
      if (others == after) {
        shim.say(R"({"op":"ping","seq":1})");
      }
    };
    observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq) {
      is_heard = is_heard || peer == its_id;
      if (!is_heard) {
        ++others;
        ask();
        be_slow();
      }
    };
    ask();
    EXPECT_TRUE(until([&] { return is_heard; }));
    observer_.on_message = nullptr;
    return others - after;
  }
  std::size_t last_index(std::string_view event) const {
    auto const found = std::find(observer_.events.rbegin(), observer_.events.rend(), event);
    return static_cast<std::size_t>(observer_.events.rend() - found) - 1;
  }
  std::size_t first_index(std::string_view event) const {
    auto const found = std::find(observer_.events.begin(), observer_.events.end(), event);
    return static_cast<std::size_t>(found - observer_.events.begin());
  }
};

TEST_F(LastWordsTest, The_shim_does_not_wait_for_all_lines_of_a_crowd_that_has_died) {
  listen();
  RawClient its = shim();
  PeerId const its_id = observer_.peers.back();
  Process crowd(options_.engine_socket, kCrowd, [](Process::Connections& all) {
    for (RawClient& one : all) {
      one.write(lines(kLines));
    }
  });
  ASSERT_TRUE(have_greeted(1 + kCrowd));
  if (!is_watched()) {
    GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
  }
  crowd.end();
  EXPECT_LT(lines_before_the_shim(its, its_id), kCrowd * kLines / 2);
  EXPECT_EQ(observer_.count("process_gone"), 0U);
  EXPECT_TRUE(until([&] { return observer_.count("process_gone") == kCrowd; }));
  EXPECT_EQ(observer_.messages, kCrowd * kLines + 1);
  EXPECT_GT(first_index("process_gone"), last_index("message cleanup.done"));
}

TEST_F(LastWordsTest, The_shim_does_not_wait_for_all_lines_before_a_hello_that_resumes_requests) {
  listen();
  RawClient its = shim();
  PeerId const its_id = observer_.peers.back();
  std::deque<RawClient> crowd;
  for (std::size_t i = 0; i < kCrowd; ++i) {
    crowd.push_back(engine());
  }
  for (RawClient& one : crowd) {
    one.write(lines(kLines));
  }
  RawClient again(options_.engine_socket);
  again.say(kHelloAgain);
  // After so many lines the newcomer is late, and has had its turn.
  EXPECT_LT(lines_before_the_shim(its, its_id, 2 * kLines), kCrowd * kLines / 2);
  EXPECT_TRUE(answer(again).starts_with(R"({"op":"welcome")"));
  EXPECT_EQ(observer_.messages, kCrowd * kLines + 1);
}

TEST_F(LastWordsTest, A_hello_that_resumes_requests_comes_after_earlier_lines_and_before_its_own) {
  listen();
  RawClient before = engine();
  before.write(lines(kLines));
  before.write(lines(kLines));  // together more than is read in one turn
  RawClient again(options_.engine_socket);
  again.write(std::string(kHelloAgain) + "\n" + R"({"op":"deregistered"})" + "\n");
  before.close();
  EXPECT_TRUE(until([&] { return observer_.count("message deregistered") == 1; }));
  std::size_t const hello = first_index("hello again");
  EXPECT_EQ(observer_.count("message cleanup.done"), 2 * kLines);
  EXPECT_GT(hello, last_index("message cleanup.done"));
  EXPECT_GT(hello, first_index("disconnected"));
  EXPECT_LT(hello, first_index("message deregistered"));
}

TEST_F(LastWordsTest, Connections_that_go_on_writing_cost_a_hello_one_round) {
  constexpr std::size_t kMany = 24;
  constexpr std::size_t kPart = 100;
  listen();
  std::deque<RawClient> many;
  std::map<PeerId, std::pair<RawClient*, std::size_t>> by_id;
  for (std::size_t i = 0; i < kMany; ++i) {
    many.push_back(engine());
    by_id[observer_.peers.back()] = {&many.back(), 0};
  }
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq) {
    auto& [client, received] = by_id.at(peer);
    if (++received % kPart == 0) {
      client->write(lines(kPart));  // as much as in the beginning waits for the supervisor again
    }
  };
  for (auto one = many.rbegin(); one != many.rend(); ++one) {
    one->write(lines(2 * kPart));  // their turns come in this order, and never in that of the waits
    io_.restart();
    io_.poll_one();
  }
  RawClient again(options_.engine_socket);
  again.say(kHelloAgain);
  EXPECT_TRUE(until([&] { return observer_.count("hello again") == 1; }));
  observer_.on_message = nullptr;
  // A round reads at most this from each, besides what their own turns read meanwhile.
  constexpr std::size_t kReadAtOnce = 64 * 1024;
  EXPECT_LT(observer_.messages, kMany * kReadAtOnce * 3 / 2 / lines(1).size());
}

TEST_F(LastWordsTest, A_hello_that_has_to_wait_is_in_time_although_its_time_ends_meanwhile) {
  options_.hello_timeout = std::chrono::milliseconds(1'500);
  listen();
  RawClient slow = engine();
  RawClient awaited = engine();
  RawClient again(options_.engine_socket);
  io_.restart();
  io_.poll();  // it is accepted
  observer_.on_message = [&](PeerId, ToSupervisor const&, Seq) {
    // In the first line the time ends; the second one is long enough for a slice.
    bool const is_first = observer_.messages == 1;
    be_slow(std::chrono::milliseconds(is_first ? 1'600 : 20));
  };
  slow.write(lines(1));
  again.say(kHelloAgain);
  awaited.write(lines(2));
  EXPECT_TRUE(answer(again).starts_with(R"({"op":"welcome")"));
  EXPECT_EQ(observer_.messages, 3U);
}

TEST_F(LastWordsTest, The_end_of_a_process_comes_after_the_lines_of_all_of_its_connections) {
  listen();
  std::string const path = options_.engine_socket;
  Process process(path, 3, [path](Process::Connections& all) {
    for (RawClient& one : all) {
      one.write(lines(kLines));
      one.write(lines(kLines));
    }
    RawClient last(path);
    last.write(std::string(kHelloAgain) + "\n" + lines(kLines));
  });
  ASSERT_TRUE(have_greeted(3));
  if (!is_watched()) {
    GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
  }
  process.end();
  EXPECT_TRUE(until([&] { return observer_.count("process_gone") == 4; }));
  EXPECT_EQ(observer_.messages, 7 * kLines);
  EXPECT_EQ(observer_.count("disconnected"), 4U);
  EXPECT_GT(first_index("process_gone"), last_index("message cleanup.done"));
  EXPECT_GT(first_index("process_gone"), first_index("hello again"));
}

TEST_F(LastWordsTest, What_a_process_has_written_comes_before_the_shim_s_report_of_its_end) {
  listen();
  RawClient its = shim();
  Process process(options_.engine_socket, 1, [](Process::Connections& all) {
    for (int i = 0; i < 2; ++i) {  // more than is read in one turn, but not than a socket holds
      all.front().write(lines(kLines));
    }
  });
  ASSERT_TRUE(have_greeted(2));
  if (!is_watched()) {
    GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
  }
  process.end();
  its.say(R"({"op":"engine.exited","code":0,"oom":false,"ordered":true,"at_ms":950000})");
  EXPECT_TRUE(until([&] { return observer_.count("message engine.exited") == 1; }));
  EXPECT_EQ(observer_.count("message cleanup.done"), 2 * kLines);
}

TEST_F(LastWordsTest, A_stranger_that_goes_on_writing_does_not_delay_the_end_for_ever) {
  listen();
  int hold[2];
  ASSERT_EQ(::pipe(hold), 0);
  {
    Process process(options_.engine_socket, 1, [&hold](Process::Connections& all) {
      if (::fork() != 0) {
        return;
      }
      ::close(hold[1]);
      std::string const words = lines(100);
      for (pollfd held{hold[0], POLLIN, 0}; ::poll(&held, 1, 0) == 0;) {
        (void)all.front().try_write(words);
      }
      ::_exit(0);
    });
    ASSERT_TRUE(have_greeted(1));
    process.end();
    if (is_watched()) {
      EXPECT_TRUE(until([&] { return observer_.messages > 2 * kLines; }));
      EXPECT_TRUE(until([&] { return observer_.count("process_gone") == 1; }));
      EXPECT_EQ(observer_.count("disconnected"), 0U);
    }
  }
  ::close(hold[0]);
  ::close(hold[1]);
}

TEST_F(LastWordsTest, A_peer_that_is_forgotten_while_its_last_words_are_awaited_is_not_reported) {
  listen();
  Process crowd(options_.engine_socket, kCrowd, [](Process::Connections& all) {
    for (RawClient& one : all) {
      one.write(lines(kLines));
    }
  });
  ASSERT_TRUE(have_greeted(kCrowd));
  if (!is_watched()) {
    GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
  }
  crowd.end();
  observer_.on_message = [&](PeerId, ToSupervisor const&, Seq) {
    observer_.on_message = nullptr;
    for (PeerId const peer : observer_.peers) {
      if (peer != observer_.peers.back()) {
        server_->forget(peer);
      }
    }
  };
  EXPECT_TRUE(until([&] { return observer_.count("process_gone") == 1; }));
  EXPECT_LE(observer_.messages, kLines + 1);
  EXPECT_EQ(observer_.count("disconnected"), 1U);
}

/// The last words of a dead crowd are awaited, and those of this process by its next hello.
class AwaitedTest : public LastWordsTest {
 protected:
  AwaitedTest() {
    listen();
    observer_.on_message = [](PeerId, ToSupervisor const&, Seq) { be_slow(); };
    for (std::size_t i = 0; i < kCrowd; ++i) {
      own_.push_back(engine());
    }
    Process crowd(options_.engine_socket, kCrowd, [](Process::Connections& all) {
      for (RawClient& one : all) {
        one.write(lines(kLines));
      }
    });
    EXPECT_TRUE(have_greeted(2 * kCrowd));
    for (RawClient& one : own_) {
      one.write(lines(kLines));
    }
    crowd.end();
    own_.emplace_back(options_.engine_socket);
    own_.back().say(kHelloAgain);
    EXPECT_TRUE(until([&] { return observer_.messages > 100; }));
  }

  std::deque<RawClient> own_;
};

TEST_F(AwaitedTest, The_server_can_end) {
  server_.reset();
  io_.restart();
  io_.poll();
  EXPECT_EQ(observer_.count("hello again") + observer_.count("process_gone"), 0U);
}

TEST_F(AwaitedTest, Connections_that_are_closed_are_awaited_no_longer) {
  bool const watched = is_watched();
  server_->close_all();
  EXPECT_TRUE(is_closed(own_.back()));
  EXPECT_EQ(observer_.count("hello again"), 0U) << "it was closed before it was passed on";
  EXPECT_TRUE(until([&] { return observer_.count("process_gone") == (watched ? kCrowd : 0U); }));
  EXPECT_LT(observer_.messages, kLines);
}

}  // namespace
}  // namespace lastcall::ipc::test
