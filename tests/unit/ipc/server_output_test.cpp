// The output: coalescing, cancels on demand, limits, closing.
#include "tests/unit/ipc/server_fixture.hpp"

namespace lastcall::ipc::test {
namespace {

TEST_F(ServerTest, Messages_sent_in_one_turn_arrive_in_order) {
  listen();
  RawClient client = engine();
  PeerId const peer = observer_.peers[0];
  EXPECT_TRUE(server_->is_flushed());
  server_->send(peer, HealthCheck{});
  server_->send(peer, PhaseChange{Phase::draining, Instant(Duration(5))});
  server_->send(peer, Deregister{});
  EXPECT_FALSE(server_->is_flushed());
  EXPECT_FALSE(client.has_line()) << "written inside the call";
  EXPECT_EQ(answer(client), R"({"op":"health.check"})");
  EXPECT_EQ(answer(client), R"({"op":"phase","phase":"draining","deadline_at_ms":5})");
  EXPECT_EQ(answer(client), R"({"op":"deregister"})");
  EXPECT_TRUE(server_->is_flushed());
}

TEST_F(ServerTest, A_message_beyond_the_limits_is_reported_and_not_sent) {
  listen();
  RawClient client = engine();
  server_->send(observer_.peers[0], Remember{std::string(kMaxBlob + 1, 'x')});
  EXPECT_TRUE(observer_.troubles.empty()) << "reported inside the call";
  EXPECT_TRUE(until([&] { return observer_.troubles.size() == 1; }));
  EXPECT_NE(observer_.troubles[0].find("'remember'"), std::string::npos);
  server_->send(observer_.peers[0], HealthCheck{});
  EXPECT_EQ(answer(client), R"({"op":"health.check"})");
}

TEST_F(ServerTest, Ten_thousand_cancels_arrive_in_few_lines_each_once) {
  listen();
  RawClient client = engine();
  PeerId const peer = observer_.peers[0];
  std::vector<std::string> expected;
  for (int i = 0; i < 10'000; ++i) {
    expected.push_back("request-with-a-usual-length-" + std::to_string(i));
  }
  observer_.cancels[peer].assign(expected.begin(), expected.end());
  server_->cancels_ready(peer);
  std::vector<std::string> got;
  std::size_t lines = 0;
  EXPECT_TRUE(until([&] {
    while (client.has_line()) {
      auto const decoded = decode_from_supervisor(client.line());
      auto const& batch = std::get<CancelBatch>(std::get<0>(decoded).message);
      got.insert(got.end(), batch.ids.begin(), batch.ids.end());
      ++lines;
    }
    return got.size() >= expected.size();
  }));
  EXPECT_EQ(got, expected);
  EXPECT_LT(lines, 200U);
}

TEST_F(ServerTest, Cancels_for_a_peer_that_does_not_read_stay_with_the_observer) {
  options_.stall_timeout = std::chrono::minutes(1);
  listen();
  RawClient client = engine();
  PeerId const peer = observer_.peers[0];
  for (int i = 0; i < 100'000; ++i) {
    observer_.cancels[peer].push_back("request-with-a-usual-length-" + std::to_string(i));
  }
  for (int i = 0; i < 400; ++i) {
    server_->send(peer, Admitted{std::string(kMaxId, 'x')});
  }
  server_->cancels_ready(peer);
  io_.restart();
  io_.poll();
  std::size_t const left = observer_.cancels[peer].size();
  EXPECT_GT(left, 50'000U) << "taken although the socket is full";
  std::size_t got = 0;
  EXPECT_TRUE(until([&] {
    while (client.has_line()) {
      auto const decoded = decode_from_supervisor(client.line());
      auto const* const batch = std::get_if<CancelBatch>(&std::get<0>(decoded).message);
      got += batch == nullptr ? 0 : batch->ids.size();
    }
    return got == 100'000;
  }));
}

TEST_F(ServerTest, A_peer_for_which_more_than_the_limit_waits_is_dropped) {
  options_.max_waiting = 100'000;
  listen();
  RawClient client = engine();
  PeerId const peer = observer_.peers[0];
  std::size_t sent = 0;
  EXPECT_TRUE(until([&] {
    for (int i = 0; i < 100; ++i) {
      server_->send(peer, Admitted{std::string(kMaxId, 'x')});
      ++sent;
    }
    return observer_.count("disconnected") == 1;
  }));
  EXPECT_EQ(observer_.reason, "more than 100000 bytes wait for it");
  EXPECT_LT(sent * kMaxId, 2'000'000U) << "memory would not be bounded";
  EXPECT_TRUE(is_closed(client));
}

TEST_F(ServerTest, A_peer_that_reads_nothing_is_dropped) {
  options_.stall_timeout = std::chrono::milliseconds(50);
  listen();
  RawClient client = engine();
  for (int i = 0; i < 2'000; ++i) {
    server_->send(observer_.peers[0], Admitted{std::string(kMaxId, 'x')});
  }
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
  EXPECT_EQ(observer_.reason, "has read nothing for 50 ms");
}

TEST_F(ServerTest, A_slow_reader_is_not_dropped) {
  options_.stall_timeout = std::chrono::milliseconds(500);
  listen();
  RawClient client = engine();
  for (int i = 0; i < 1'200; ++i) {
    server_->send(observer_.peers[0], Admitted{std::string(kMaxId, 'x')});
  }
  // Slower than what makes the kernel call the socket writable within the timeout.
  constexpr std::size_t kPiece = 12 * 1024;
  constexpr std::chrono::milliseconds kPause{50};
  auto next = std::chrono::steady_clock::now();
  std::size_t lines = 0;
  EXPECT_TRUE(until([&] {
    if (std::chrono::steady_clock::now() >= next) {
      next += kPause;
      client.take(kPiece);
      while (client.has_taken_line()) {
        client.line();
        ++lines;
      }
    }
    return lines == 1'200 || observer_.count("disconnected") > 0;
  }));
  EXPECT_EQ(lines, 1'200U);
}

TEST_F(ServerTest, A_shim_that_reads_nothing_is_not_dropped) {
  options_.stall_timeout = std::chrono::milliseconds(20);
  options_.max_waiting = 10'000;
  listen();
  RawClient shim(options_.engine_socket);
  shim.say(R"({"op":"hello","version":1,"role":"shim","boot":"b"})");
  answer(shim);
  for (int i = 0; i < 2'000; ++i) {
    server_->send(observer_.peers[0], Remember{std::string(kMaxId, 'x')});
  }
  auto const later = std::chrono::steady_clock::now() + 10 * options_.stall_timeout;
  EXPECT_TRUE(until([&] { return std::chrono::steady_clock::now() > later; }));
  EXPECT_EQ(observer_.count("disconnected"), 0U);
  std::size_t lines = 0;
  EXPECT_TRUE(until([&] {
    while (shim.has_line()) {
      shim.line();
      ++lines;
    }
    return lines == 2'000;
  }));
}

TEST_F(ServerTest, Close_writes_what_waits_and_is_reported_once) {
  listen();
  RawClient client = engine();
  PeerId const peer = observer_.peers[0];
  server_->send(peer, HealthCheck{});
  server_->close(peer);
  server_->close(peer);
  server_->send(peer, HealthCheck{});
  EXPECT_EQ(observer_.count("disconnected"), 0U) << "reported inside the call";
  EXPECT_EQ(answer(client), R"({"op":"health.check"})");
  EXPECT_TRUE(is_closed(client));
  EXPECT_FALSE(client.has_line());
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
  EXPECT_FALSE(server_->info(peer)->connected);
  server_->forget(peer);
  EXPECT_EQ(server_->info(peer), nullptr);
}

TEST_F(ServerTest, Close_all_flushes_removes_the_sockets_and_ends_every_connection) {
  listen();
  RawClient first = engine();
  RawClient second = engine();
  server_->send(observer_.peers[0], HealthCheck{});
  server_->close_all();
  EXPECT_TRUE(until([&] { return server_->is_flushed(); }));
  EXPECT_EQ(answer(first), R"({"op":"health.check"})");
  EXPECT_TRUE(is_closed(first));
  EXPECT_TRUE(is_closed(second));
  EXPECT_FALSE(std::filesystem::exists(options_.engine_socket));
  EXPECT_FALSE(std::filesystem::exists(options_.admin_socket));
}

}  // namespace
}  // namespace lastcall::ipc::test
