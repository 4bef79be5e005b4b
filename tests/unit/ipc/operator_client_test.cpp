#include "ipc/operator_client.hpp"

#include <atomic>
#include <thread>

#include "tests/unit/ipc/server_fixture.hpp"

namespace lastcall::ipc::test {
namespace {

constexpr std::chrono::milliseconds kSoon{20};
constexpr std::chrono::seconds kLong{10};

/// The client blocks, so it has a thread; the server stays on the test's own.
class OperatorClientTest : public ServerTest {
 protected:
  template <typename Body>
  void beside(Body body) {
    std::atomic<bool> is_done = false;
    std::thread client([&] {
      body();
      is_done = true;
    });
    EXPECT_TRUE(until([&] { return is_done.load(); }));
    client.join();
  }

  static OperatorClient connected(std::string const& path) {
    auto client = OperatorClient::connect(path, "test", kLong);
    if (auto const* const failure = std::get_if<Failure>(&client)) {
      throw std::runtime_error(failure->text);
    }
    return std::move(std::get<OperatorClient>(client));
  }
};

std::string failure_of(std::string const& path) {
  auto client = OperatorClient::connect(path, "test", kSoon);
  auto const* const failure = std::get_if<Failure>(&client);
  return failure == nullptr ? "connected" : failure->text;
}

TEST_F(OperatorClientTest, Reports_why_it_cannot_connect) {
  EXPECT_EQ(failure_of(directory_ + "/none.sock"),
            "cannot connect to " + directory_ +
                "/none.sock: no such file; is `lastcall serve` running here?");
  EXPECT_NE(failure_of(std::string(200, 'x')).find("200 bytes"), std::string::npos);
  listen();
  std::string const stale = directory_ + "/stale.sock";
  ASSERT_EQ(::link(options_.admin_socket.c_str(), stale.c_str()), 0);
  server_.reset();
  EXPECT_EQ(failure_of(stale),
            "cannot connect to " + stale + ": nobody listens there; has `lastcall serve` ended?");
  EXPECT_EQ(failure_of(directory_),
            "cannot connect to " + directory_ + ": it is a directory, not a socket");
}

TEST_F(OperatorClientTest, Does_not_wait_longer_than_it_may_for_a_welcome) {
  listen();  // but nothing runs the loop
  EXPECT_EQ(failure_of(options_.admin_socket),
            "cannot get an answer from " + options_.admin_socket + ": no answer came in time");
}

TEST_F(OperatorClientTest, Reports_why_the_supervisor_refuses_it) {
  listen();
  beside([&] {
    auto client = OperatorClient::connect(options_.engine_socket, "test", kLong);
    auto const& failure = std::get<Failure>(client);
    EXPECT_EQ(failure.code, ErrorCode::not_allowed);
    EXPECT_NE(failure.text.find("admin socket"), std::string::npos) << failure.text;
  });
}

TEST_F(OperatorClientTest, Gets_the_result_of_its_request) {
  listen();
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq seq) {
    server_->send(peer, PhaseChange{Phase::draining, std::nullopt});
    server_->ack(peer, seq, R"({"phase":"draining"})");
  };
  beside([&] {
    auto client = connected(options_.admin_socket);
    EXPECT_EQ(client.welcome().phase, Phase::starting);
    auto const result = client.request(StatusQuery{}, kLong);
    EXPECT_EQ(std::get<std::string>(result), R"({"phase":"draining"})");
    // What came meanwhile was kept.
    auto const kept = client.next(kLong);
    EXPECT_EQ(std::get<PhaseChange>(std::get<FromSupervisor>(kept)).phase, Phase::draining);
  });
}

TEST_F(OperatorClientTest, Gets_the_error_of_its_request_with_its_code) {
  listen();
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq seq) {
    server_->error(peer, seq, ErrorCode::conflict, "a stop is final");
  };
  beside([&] {
    auto client = connected(options_.admin_socket);
    auto const result = client.request(Resume{}, kLong);
    EXPECT_EQ(std::get<Failure>(result).text, "a stop is final (conflict)");
    EXPECT_EQ(std::get<Failure>(result).code, ErrorCode::conflict);
  });
}

TEST_F(OperatorClientTest, Follows_a_watch_until_the_supervisor_closes) {
  listen();
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq seq) {
    server_->ack(peer, seq);
    server_->send(peer, StatusUpdate{R"({"in_flight":2})"});
    server_->send(peer, StatusUpdate{R"({"in_flight":1})"});
    server_->close(peer);
  };
  beside([&] {
    auto client = connected(options_.admin_socket);
    EXPECT_EQ(std::get<std::string>(client.request(Watch{}, kLong)), "");
    for (std::string const expected : {R"({"in_flight":2})", R"({"in_flight":1})"}) {
      auto const update = client.next(kLong);
      EXPECT_EQ(std::get<StatusUpdate>(std::get<FromSupervisor>(update)).status, expected);
    }
    auto const end = client.next(kLong);
    EXPECT_NE(std::get<Failure>(end).text.find("closed the connection"), std::string::npos);
  });
}

}  // namespace
}  // namespace lastcall::ipc::test
