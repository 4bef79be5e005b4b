// Deadlines and interruptions against servers that answer, are silent, or drip.
#include "discovery/http_thread.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <thread>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/count_entries.hpp"
#include "tests/unit/discovery/loop.hpp"

namespace lastcall::discovery::test {
namespace {

using lastcall::test::count_entries;

enum class Manner { answers, says, silent, drips_its_head, drips_its_body };

/// One connection at a time, each request answered in the same manner.
class Server {
 public:
  explicit Server(Manner manner, std::string text = {}, std::string without_end = {})
      : manner_(manner),
        text_(std::move(text)),
        without_end_(std::move(without_end)),
        listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 8);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    server_ = {.tls = false, .host = "127.0.0.1", .port = ntohs(address.sin_port), .path = "/p"};
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ends_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    ::shutdown(connection_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  Server(Server const&) = delete;
  Server& operator=(Server const&) = delete;

  HttpServer const& where() const { return server_; }
  int connections() const { return connections_; }

 private:
  void serve() {
    for (int fd = accept(); fd >= 0; fd = accept()) {
      char bytes[4096];
      std::string request;  // it may come in pieces, and is answered once
      for (ssize_t size = 0; (size = ::recv(fd, bytes, sizeof(bytes), 0)) > 0;) {
        request.append(bytes, static_cast<std::size_t>(size));
        if (request.find("\r\n\r\n") != std::string::npos) {
          request.clear();
          answer(fd);
        }
      }
      connection_ = -1;
      ::close(fd);
    }
  }
  int accept() {
    int const fd = ends_ ? -1 : ::accept(listener_, nullptr, nullptr);
    connection_ = fd;
    connections_ += fd >= 0 ? 1 : 0;
    return fd;
  }
  void answer(int fd) {
    std::string const whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    std::string const head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
    switch (manner_) {
      case Manner::silent:
        return;
      case Manner::answers:
        ::send(fd, whole.data(), whole.size(), MSG_NOSIGNAL);
        return;
      case Manner::says:
        ::send(fd, text_.data(), text_.size(), MSG_NOSIGNAL);
        while (!without_end_.empty() && !ends_ &&
               ::send(fd, without_end_.data(), without_end_.size(), MSG_NOSIGNAL) > 0) {
        }
        return;
      case Manner::drips_its_head:
        return drip(fd, "HTTP/1.1 200 OK\r\nX: ");
      case Manner::drips_its_body:
        return drip(fd, head);
    }
  }
  void drip(int fd, std::string const& beginning) {
    ::send(fd, beginning.data(), beginning.size(), MSG_NOSIGNAL);
    pollfd peer{.fd = fd, .events = 0, .revents = 0};
    while (!ends_ && ::poll(&peer, 1, 5) == 0 && ::send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
    }
  }

  Manner const manner_;
  std::string const text_;
  std::string const without_end_;
  int const listener_;
  std::atomic<int> connection_ = -1;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> ends_ = false;
  HttpServer server_;
  std::thread thread_;
};

class HttpThreadTest : public LoopTest {
 protected:
  explicit HttpThreadTest(std::size_t stack_size = kSmallStack)
      : owned_(std::in_place, io_.get_executor(), "test", HttpTls{}, stack_size) {}
  /// A thread that was left behind ends first: one that is in a handshake while the process ends
  /// looks like a leak of OpenSSL's.
  ~HttpThreadTest() override {
    owned_.reset();
    EXPECT_TRUE(run_until([this] { return count_entries("/proc/self/task") <= threads_before_; }));
  }

  /// Asks, and keeps the reply of each.
  template <typename Where>
  void ask(Where const& server, Duration within) {
    ask(server.where(), within);
  }
  void ask(HttpServer const& server, Duration within) {
    auto const reply = std::make_shared<HttpReply>();
    thread_.run(
        in(within),
        [reply, where = server](HttpClient& client, TimePoint until) {
          *reply = client.send(where, {.path = "/x", .headers = {}, .body = "{}"}, until);
        },
        [this, reply] { replies_.push_back(*reply); });
  }
  bool replied(std::size_t count) {
    return run_until([&] { return replies_.size() == count; });
  }

  std::ptrdiff_t const threads_before_ = count_entries("/proc/self/task");
  std::vector<HttpReply> replies_;
  std::optional<HttpThread> owned_;
  HttpThread& thread_ = *owned_;
};

constexpr Duration kLong{20'000};

TEST_F(HttpThreadTest, Keeps_its_connection) {
  Server const server(Manner::answers);
  ask(server, kLong);
  ask(server, kLong);
  ASSERT_TRUE(replied(2));
  EXPECT_EQ(replies_[0].status, 200);
  EXPECT_EQ(replies_[1].body, "ok");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpThreadTest, Bears_a_status_line_of_8000_characters) {
  Server const server(
      Manner::says, "HTTP/1.1 200 " + std::string(8'000, 'x') + "\r\nContent-Length: 2\r\n\r\nok");
  ask(server, kLong);
  ASSERT_TRUE(replied(1));
  EXPECT_EQ(replies_[0].body, "ok");
}

TEST_F(HttpThreadTest, Reads_chunks_up_to_their_trailers_and_keeps_the_connection) {
  Server const server(Manner::says,
                      "HTTP/1.1 100 Continue\r\n\r\n"
                      "HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "2\r\n{}\r\n1\r\n\n\r\n0\r\nGrpc-Status: 3\r\n\r\n");
  ask(server, kLong);
  ask(server, kLong);
  ASSERT_TRUE(replied(2));
  for (HttpReply const& reply : replies_) {
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(reply.body, "{}\n");
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpThreadTest, Takes_no_answer_whose_head_or_chunk_has_no_end_or_is_another_thing) {
  std::string const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::pair<std::string, std::string> const answers[] = {
      {"HTTP/1.1 200 " + std::string(200'000, 'a') + "\r\nContent-Length: 0\r\n\r\n", ""},
      {"HTTP/1.1 200 ", std::string(65'536, 'a')},
      {"HTTP/1.1 200 OK\r\n", "X: y\r\n"},
      {"HTTP/1.1 200 OK\r\nX: ", std::string(65'536, 'a')},
      {chunked, "f"},
      {chunked + "1;", std::string(65'536, 'a')},
      {chunked + "0\r\n", "X: y\r\n"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", ""},
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", ""},
  };
  for (auto const& [text, without_end] : answers) {
    replies_.clear();
    Server const server(Manner::says, text, without_end);
    ask(server, kLong);
    ASSERT_TRUE(replied(1));
    EXPECT_EQ(replies_[0].status, 0) << text.substr(0, 60);
    EXPECT_NE(replies_[0].error.find("is not HTTP/1.1"), std::string::npos)
        << text.substr(0, 60) << replies_[0].error;
  }
}

/// A port whose queue of connections is full: what comes is dropped without a word.
class Deaf {
 public:
  Deaf() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    for (int& one : queued_) {
      one = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      ::connect(one, reinterpret_cast<sockaddr*>(&address), size);
    }
    server_ = {.tls = false, .host = "127.0.0.1", .port = ntohs(address.sin_port), .path = ""};
  }
  ~Deaf() {
    for (int const one : queued_) {
      ::close(one);
    }
    ::close(listener_);
  }
  Deaf(Deaf const&) = delete;
  Deaf& operator=(Deaf const&) = delete;

  HttpServer const& where() const { return server_; }

 private:
  int const listener_;
  int queued_[8] = {};
  HttpServer server_;
};

class Connecting : public HttpThreadTest {
 protected:
  /// The first hangs before it is connected; interrupting must not wait for it.
  void interrupt_promptly() {
    Server const answers(Manner::answers);
    ask(answers, kLong);
    run_for(Duration{50});  // into the connecting
    auto const began = TimePoint::clock::now();
    thread_.interrupt();
    ASSERT_TRUE(replied(2));
    EXPECT_LT(TimePoint::clock::now() - began, kLong / 2);
    EXPECT_EQ(replies_[0].status, 0);
    EXPECT_NE(replies_[0].error.find("interrupted"), std::string::npos) << replies_[0].error;
    EXPECT_EQ(replies_[1].status, 200);
  }
};

TEST_F(Connecting, Can_be_interrupted_where_the_other_side_takes_no_connection) {
  Deaf const deaf;
  ask(deaf, kLong);
  interrupt_promptly();
}

TEST_F(Connecting, Can_be_interrupted_in_a_handshake_that_hangs) {
  Server const mute(Manner::silent);
  auto where = mute.where();
  where.tls = true;
  ask(where, kLong);
  ASSERT_TRUE(run_until([&] { return mute.connections() == 1; }));
  interrupt_promptly();
}

TEST_F(Connecting, Ends_at_its_deadline_where_the_other_side_takes_no_connection) {
  Deaf const deaf;
  ask(deaf, Duration{200});
  ASSERT_TRUE(replied(1));
  EXPECT_NE(replies_[0].error.find("no answer within"), std::string::npos) << replies_[0].error;
}

class Hanging : public HttpThreadTest, public ::testing::WithParamInterface<Manner> {};

TEST_P(Hanging, Ends_at_its_deadline) {
  Server const server(GetParam());
  auto const began = TimePoint::clock::now();
  ask(server, Duration{200});
  ASSERT_TRUE(replied(1));
  EXPECT_EQ(replies_[0].status, 0);
  EXPECT_NE(replies_[0].error.find("no answer within"), std::string::npos) << replies_[0].error;
  EXPECT_TRUE(replies_[0].error.ends_with("00 ms")) << replies_[0].error;
  EXPECT_GE(TimePoint::clock::now() - began, Duration{190});
}

TEST_P(Hanging, Can_be_interrupted_and_the_next_job_begins) {
  Server const hangs(GetParam());
  Server const answers(Manner::answers);
  ask(hangs, kLong);
  ask(answers, kLong);
  ASSERT_TRUE(run_until([&] { return hangs.connections() == 1; }));
  run_for(Duration{20});  // into the answer
  thread_.interrupt();
  ASSERT_TRUE(replied(2));
  EXPECT_EQ(replies_[0].status, 0);
  EXPECT_EQ(replies_[1].status, 200);
}

INSTANTIATE_TEST_SUITE_P(Servers, Hanging,
                         testing::Values(Manner::silent, Manner::drips_its_head,
                                         Manner::drips_its_body));

TEST_F(HttpThreadTest, A_job_whose_time_is_over_before_its_turn_asks_nobody) {
  Server const hangs(Manner::silent);
  Server const answers(Manner::answers);
  ask(hangs, Duration{200});
  ask(answers, Duration{50});
  ASSERT_TRUE(replied(2));
  EXPECT_EQ(replies_[1].status, 0);
  EXPECT_EQ(answers.connections(), 0);
}

/// Jobs of an HttpThread whose thread cannot be started, because no memory can hold its stack.
class WithoutThread : public HttpThreadTest {
 protected:
  WithoutThread() : HttpThreadTest(std::size_t{1} << 60U) {}
};

TEST_F(WithoutThread, A_server_that_answers_is_asked) {
  Server const answers(Manner::answers);
  ask(answers, kLong);
  ASSERT_TRUE(replied(1));
  EXPECT_EQ(replies_[0].status, 200);
}

TEST_F(WithoutThread, A_server_that_hangs_does_not_hold_up_the_loop) {
  Server const hangs(Manner::silent);
  auto const began = TimePoint::clock::now();
  ask(hangs, kLong);
  ASSERT_TRUE(replied(1));
  EXPECT_LT(TimePoint::clock::now() - began, kLong / 2);
  EXPECT_NE(replies_[0].error.find("no answer within"), std::string::npos) << replies_[0].error;
}

TEST(HttpThreadEnd, Does_not_wait_for_a_server_that_hangs) {
  Server const server(Manner::silent);
  boost::asio::io_context io;
  bool then_ran = false;
  {
    HttpThread thread(io.get_executor(), "test", {});
    thread.run(
        TimePoint::clock::now() + kLong,
        [where = server.where()](HttpClient& client, TimePoint until) {
          client.send(where, {.path = "/", .headers = {}, .body = ""}, until);
        },
        [&then_ran] { then_ran = true; });
    while (server.connections() == 0) {
      std::this_thread::yield();
    }
  }
  io.poll();
  EXPECT_FALSE(then_ran);
}

}  // namespace
}  // namespace lastcall::discovery::test
