// The listener against clients that are slow, many, or rude.
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "probes/listener/http_head.hpp"
#include "probes/listener/listener.hpp"
#include "tests/unit/count_entries.hpp"
#include "tests/unit/probes/http_client.hpp"

namespace lastcall::probes::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using lastcall::test::count_entries;

void say_ok(Request const&, Responder responder) {
  responder.send({.body = "ok\n"});
}

std::vector<Connection> open_slow(std::uint16_t port, std::size_t count) {
  std::vector<Connection> slow;
  for (std::size_t i = 0; i < count; ++i) {
    slow.emplace_back(port).send("GET /livez HTTP/1.1\r\nX-");
  }
  return slow;
}

TEST(ListenerLimits, Thirty_one_slow_clients_do_not_delay_a_probe) {
  HttpListener listener({.port = 0, .head_timeout = 30s}, &say_ok);
  ASSERT_FALSE(listener.start());
  auto const slow = open_slow(listener.port(), 31);
  auto const began = Clock::now();
  EXPECT_EQ(get(listener.port(), "/livez").status, 200);
  EXPECT_LT(Clock::now() - began, 5s);  // far below the slow clients' 30 s
}

TEST(ListenerLimits, More_slow_clients_than_connections_do_not_keep_a_probe_out) {
  HttpListener listener({.port = 0, .head_timeout = 30s, .max_connections = 16}, &say_ok);
  ASSERT_FALSE(listener.start());
  auto const slow = open_slow(listener.port(), 100);
  EXPECT_EQ(get(listener.port(), "/livez").status, 200);
  EXPECT_TRUE(slow.front().sees_close(10s));  // the oldest made room
}

/// More than the buffers of both sockets take of a client that does not read.
constexpr std::size_t kLongAnswer = std::size_t{12} * 1024 * 1024;

TEST(ListenerLimits, Clients_that_do_not_take_their_answers_keep_no_probe_out) {
  std::promise<void> asked;
  HttpListener listener({.port = 0, .write_timeout = 30s, .max_connections = 1},
                        [&](Request const& request, Responder responder) {
                          bool const is_long = request.path == "/metrics";
                          responder.send({.body = std::string(is_long ? kLongAnswer : 1, 'm')});
                          if (is_long) {
                            asked.set_value();
                          }
                        });
  ASSERT_FALSE(listener.start());
  Connection const deaf(listener.port());
  deaf.send("GET /metrics HTTP/1.1\r\n\r\n");
  asked.get_future().wait();
  EXPECT_EQ(get(listener.port(), "/livez").status, 200);
}

TEST(ListenerLimits, Answers_that_nobody_takes_hold_little_together) {
  HttpListener listener({.port = 0, .write_timeout = 30s}, [](Request const&, Responder responder) {
    responder.send({.body = std::string(kLongAnswer, 'm')});
  });
  ASSERT_FALSE(listener.start());
  Connection const first(listener.port());
  first.send("GET /metrics HTTP/1.1\r\n\r\n");
  Connection const second(listener.port());
  second.send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_GT(second.receive_all().size(), kLongAnswer);
  EXPECT_LT(first.receive_all().size(), kLongAnswer);
}

TEST(ListenerLimits, A_long_value_of_any_header_costs_no_stack) {
  HttpListener listener({.port = 0}, &say_ok);  // on the small stack of its thread
  ASSERT_FALSE(listener.start());
  for (char const* const name : {"Range: bytes=", "Accept: ", "Content-Type: ", "Host: "}) {
    Connection const client(listener.port());
    client.send("GET /livez HTTP/1.1\r\n" + (name + std::string(kMaxHead - 100, '1')) +
                "-\r\n\r\n");
    EXPECT_EQ(parse_response(client.receive_all()).status, 200) << name;
  }
}

TEST(ListenerLimits, Requests_that_two_servers_read_differently_are_refused) {
  HttpListener listener({.port = 0}, &say_ok);
  ASSERT_FALSE(listener.start());
  std::string lines;
  for (int i = 0; i < 129; ++i) {
    lines += "a:\r\n";
  }
  std::pair<int, std::string> const heads[] = {
      {400, "GET /livez HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"},
      {400, "GET /livez HTTP/1.1\r\nContent-Length: -1\r\n\r\n"},
      {400, "GET /livez HTTP/1.1\r\nX : a\r\n\r\n"},
      {400, std::string("GET /livez HTTP/1.1\r\nX: a") + '\0' + "b\r\n\r\n"},
      {400, "GET /liv ez HTTP/1.1\r\n\r\n"},
      {400, "GET ?/livez HTTP/1.1\r\n\r\n"},
      {400, "GET http://h/livez HTTP/1.1\r\n\r\n"},
      {431, "GET /livez HTTP/1.1\r\n" + lines + "\r\n"},
      {505, "GET /livez HTTP/2.0\r\n\r\n"},
  };
  for (auto const& [status, head] : heads) {
    Connection const client(listener.port());
    client.send(head);
    EXPECT_EQ(parse_response(client.receive_all()).status, status) << head;
  }
}

TEST(ListenerLimits, A_client_that_drips_bytes_is_cut_off_by_one_deadline) {
  HttpListener listener({.port = 0, .head_timeout = 200ms}, &say_ok);
  ASSERT_FALSE(listener.start());
  Connection const dripping(listener.port());
  auto const give_up = Clock::now() + 20s;
  bool closed = false;
  while (!closed && Clock::now() < give_up) {
    dripping.send("x");
    closed = dripping.sees_close(20ms);
  }
  EXPECT_TRUE(closed);
}

TEST(ListenerLimits, Slow_clients_cost_no_threads) {
  HttpListener listener({.port = 0, .head_timeout = 30s}, &say_ok);
  ASSERT_FALSE(listener.start());
  auto const before = count_entries("/proc/self/task");
  auto const slow = open_slow(listener.port(), 50);
  EXPECT_EQ(get(listener.port(), "/livez").status, 200);
  EXPECT_EQ(count_entries("/proc/self/task"), before);
}

TEST(ListenerLimits, A_head_that_is_too_long_is_refused_early) {
  HttpListener listener({.port = 0, .head_timeout = 30s}, &say_ok);
  ASSERT_FALSE(listener.start());
  Connection const connection(listener.port());
  connection.send("GET / HTTP/1.1\r\nX-Long: " + std::string(kMaxHead * 4, 'y'));
  EXPECT_EQ(parse_response(connection.receive_all()).status, 431);
}

TEST(ListenerLimits, A_head_may_come_in_pieces) {
  HttpListener listener({.port = 0, .head_timeout = 30s}, &say_ok);
  ASSERT_FALSE(listener.start());
  Connection const connection(listener.port());
  for (char const c : std::string_view("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")) {
    connection.send({&c, 1});
  }
  EXPECT_EQ(parse_response(connection.receive_all()).status, 200);
}

TEST(ListenerLimits, Stop_does_not_wait_for_idle_or_slow_clients) {
  HttpListener listener({.port = 0, .head_timeout = 60s}, &say_ok);
  ASSERT_FALSE(listener.start());
  Connection const idle(listener.port());
  auto const slow = open_slow(listener.port(), 5);
  EXPECT_EQ(get(listener.port(), "/").status, 200);  // all of them were accepted before
  auto const began = Clock::now();
  listener.stop();
  EXPECT_LT(Clock::now() - began, 10s);
  EXPECT_FALSE(Connection(listener.port()).is_open());
  listener.stop();  // twice is harmless
}

TEST(ListenerLimits, Stop_does_not_wait_for_a_handler_that_never_answers) {
  std::promise<Responder> kept;
  HttpListener listener({.port = 0}, [&](Request const&, Responder responder) {
    kept.set_value(std::move(responder));
  });
  ASSERT_FALSE(listener.start());
  Connection const waiting(listener.port());
  waiting.send("GET / HTTP/1.1\r\n\r\n");
  auto const responder = kept.get_future().get();
  listener.stop();
  EXPECT_TRUE(waiting.sees_close(10s));
  responder.send({});  // late, and harmless
}

TEST(ListenerLimits, Stop_still_sends_what_was_answered_before_it) {
  std::promise<Responder> kept;
  HttpListener listener({.port = 0}, [&](Request const&, Responder responder) {
    kept.set_value(std::move(responder));
  });
  ASSERT_FALSE(listener.start());
  Connection const waiting(listener.port());
  waiting.send("GET / HTTP/1.1\r\n\r\n");
  kept.get_future().get().send({.body = "drained\n"});
  listener.stop();
  EXPECT_EQ(parse_response(waiting.receive_all()).body, "drained\n");
}

TEST(ListenerLimits, Descriptors_are_flat_after_many_requests) {
  HttpListener listener({.port = 0}, &say_ok);
  ASSERT_FALSE(listener.start());
  EXPECT_EQ(get(listener.port(), "/").status, 200);
  auto const before = count_entries("/proc/self/fd");
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(get(listener.port(), "/").status, 200);
  }
  EXPECT_LE(count_entries("/proc/self/fd"), before + 1);  // the last may be closing still
}

TEST(ListenerLimits, Parallel_probes_all_get_their_answer) {
  HttpListener listener({.port = 0}, &say_ok);
  ASSERT_FALSE(listener.start());
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        answered += get(listener.port(), "/livez").status == 200 ? 1 : 0;
      }
    });
  }
  for (auto& client : clients) {
    client.join();
  }
  EXPECT_EQ(answered, 400);
}

}  // namespace
}  // namespace lastcall::probes::test
