// The end of a peer's process, apart from the end of its connection.
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/ipc/server_fixture.hpp"

namespace lastcall::ipc::test {
namespace {

/// A process that sends a hello and `last_words`, leaves a grandchild that holds the connection if
/// `hands_on`, and ends when asked to.
class Speaker {
 public:
  Speaker(std::string const& path, std::string const& last_words, bool hands_on) {
    EXPECT_EQ(::pipe(go_), 0);
    EXPECT_EQ(::pipe(hold_), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(go_[1]);
      ::close(hold_[1]);
      run(path, last_words, hands_on);
    }
    ::close(go_[0]);
    ::close(hold_[0]);
  }
  ~Speaker() {
    end();
    ::close(hold_[1]);  // lets the grandchild go
  }

  /// Sends its last words and ends.
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
  [[noreturn]] void run(std::string const& path, std::string const& last_words, bool hands_on) {
    auto connected = connect_to(path);
    if (connected.index() != 0) {
      ::_exit(1);
    }
    int const fd = std::get<Descriptor>(connected).get();
    int const room = 1 << 20;
    (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    std::string const hello =
        "{\"op\":\"hello\",\"version\":1,\"role\":\"engine\",\"name\":\"s\"}\n";
    (void)::send(fd, hello.data(), hello.size(), MSG_NOSIGNAL);
    char byte = 0;
    if (hands_on && ::fork() == 0) {
      ::close(go_[0]);
      (void)::read(hold_[0], &byte, 1);
      ::_exit(0);
    }
    (void)::read(go_[0], &byte, 1);
    (void)::send(fd, last_words.data(), last_words.size(), MSG_NOSIGNAL);
    ::_exit(0);
  }

  int go_[2]{};
  int hold_[2]{};
  pid_t child_{-1};
};

std::size_t open_pidfds() {
  std::size_t count = 0;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    bool const is_one =
        std::filesystem::read_symlink(entry, gone).string().find("pidfd") != std::string::npos;
    count += is_one ? 1 : 0;
  }
  return count;
}

class ProcessTest : public ServerTest {
 protected:
  bool is_watched() {
    return server_->info(observer_.peers.at(0)) != nullptr &&
           server_->info(observer_.peers.at(0))->watched;
  }
};

TEST_F(ProcessTest, Its_end_is_noticed_while_a_grandchild_holds_the_connection) {
  listen();
  Speaker speaker(options_.engine_socket, "", true);
  ASSERT_TRUE(until([&] { return observer_.hellos.size() == 1; }));
  if (!is_watched()) {
    GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
  }
  speaker.end();
  EXPECT_TRUE(until([&] { return observer_.count("process_gone") == 1; }));
  EXPECT_EQ(observer_.count("disconnected"), 0U);
  EXPECT_TRUE(server_->info(observer_.peers[0])->connected);
}

TEST_F(ProcessTest, Its_last_lines_are_received_before_its_end) {
  listen();
  std::string words;  // more than is read in one turn
  for (int i = 0; i < 3'200; ++i) {
    words += "{\"op\":\"request.end\",\"id\":\"a\",\"outcome\":\"completed\"}\n";
  }
  Speaker speaker(options_.engine_socket, words + "{\"op\":\"fatal\",\"reason\":\"x\"}\n", true);
  ASSERT_TRUE(until([&] { return observer_.hellos.size() == 1; }));
  if (!is_watched()) {
    GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
  }
  speaker.end();
  EXPECT_TRUE(until([&] { return observer_.count("process_gone") == 1; }));
  EXPECT_EQ(observer_.count("message request.end"), 3'200U);
  EXPECT_EQ(observer_.events.back(), "process_gone");
  EXPECT_EQ(observer_.events[observer_.events.size() - 2], "message fatal");
}

TEST_F(ProcessTest, A_peer_that_has_ended_before_it_is_accepted_is_received_completely) {
  listen();
  Speaker speaker(options_.engine_socket, "{\"op\":\"fatal\",\"reason\":\"x\"}\n", false);
  speaker.end();
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
  if (is_watched()) {
    EXPECT_TRUE(until([&] { return observer_.count("process_gone") == 1; }));
  }
  EXPECT_EQ(observer_.count("message fatal"), 1U);
  EXPECT_EQ(observer_.events[0], "hello s");
  EXPECT_EQ(observer_.events[1], "message fatal");
}

TEST_F(ProcessTest, Its_end_is_noticed_after_its_connection_has_ended) {
  listen();
  std::string const path = options_.engine_socket;
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  pid_t const child = ::fork();
  if (child == 0) {
    ::close(go[1]);
    {
      auto connected = connect_to(path);
      std::string const hello = "{\"op\":\"hello\",\"version\":1,\"role\":\"engine\"}\n";
      (void)::send(std::get<Descriptor>(connected).get(), hello.data(), hello.size(), MSG_NOSIGNAL);
    }
    char byte = 0;
    (void)::read(go[0], &byte, 1);
    ::_exit(0);
  }
  ::close(go[0]);
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
  EXPECT_EQ(observer_.count("process_gone"), 0U);
  bool const watched = is_watched();
  ::close(go[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  if (watched) {
    EXPECT_TRUE(until([&] { return observer_.count("process_gone") == 1; }));
  }
}

TEST_F(ProcessTest, Connections_of_one_process_are_told_apart_from_those_of_another) {
  listen();
  RawClient first = engine();
  RawClient second = engine();
  Speaker other(options_.engine_socket, "", false);
  ASSERT_TRUE(until([&] { return observer_.hellos.size() == 3; }));
  auto const process = [&](std::size_t i) { return server_->info(observer_.peers[i])->process; };
  if (process(0) == 0) {
    GTEST_SKIP() << "this kernel does not tell processes apart";
  }
  EXPECT_EQ(process(0), process(1));
  EXPECT_NE(process(0), process(2));
  EXPECT_NE(process(2), 0U);
}

/// The loop's epoll reports c, d and the ends of a and b together. While c's hello is handled the
/// connections a and b end, and d then gets what Asio had allocated for them, with their events.
TEST_F(ProcessTest, An_event_of_a_connection_that_has_ended_is_not_taken_for_its_end) {
  listen();
  RawClient a = engine();
  RawClient b = engine();
  RawClient c(options_.engine_socket);
  if (!is_watched()) {
    GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
  }
  io_.restart();
  io_.poll();
  c.say(R"({"op":"hello","version":1,"role":"engine","name":"c","live":1})");
  RawClient d(options_.engine_socket);
  d.say(R"({"op":"hello","version":1,"role":"engine","name":"d"})");
  a.close();
  b.close();
  answer(d);
  answer(c);
  EXPECT_EQ(observer_.count("disconnected"), 2U);
  EXPECT_EQ(observer_.count("process_gone"), 0U);
}

TEST_F(ProcessTest, A_forgotten_peer_is_not_watched_any_more) {
  listen();
  Speaker speaker(options_.engine_socket, "", false);
  ASSERT_TRUE(until([&] { return observer_.hellos.size() == 1; }));
  server_->forget(observer_.peers[0]);
  EXPECT_EQ(open_pidfds(), 0U);
  speaker.end();
  RawClient other = engine();  // a full turn of the loop and more
  EXPECT_EQ(observer_.count("process_gone"), 0U);
  EXPECT_EQ(observer_.count("disconnected"), 0U);
}

}  // namespace
}  // namespace lastcall::ipc::test
