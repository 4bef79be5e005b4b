// Too many peers: which ones still get in.
#include "tests/unit/ipc/server_fixture.hpp"

namespace lastcall::ipc::test {
namespace {

constexpr char const* kEngineHello = R"({"op":"hello","version":1,"role":"engine"})";
constexpr char const* kShimHello =
    R"({"op":"hello","version":1,"role":"shim","boot":"b","engine":{"state":"waiting"}})";
constexpr char const* kOperatorHello = R"({"op":"hello","version":1,"role":"operator"})";

class CrowdTest : public ServerTest {
 protected:
  /// Takes every place of the engine socket, which has two.
  void listen_to_a_crowd() {
    options_.max_connections = 2;
    listen();
    crowd_.push_back(engine());
    crowd_.push_back(engine());
  }
  bool is_welcome(std::string const& path, char const* hello) {
    crowd_.emplace_back(path);
    crowd_.back().say(hello);
    return answer(crowd_.back()).starts_with(R"({"op":"welcome")");
  }

  /// Each of the crowd has sent many lines that were not read yet; returns the number of lines.
  std::size_t let_a_crowd_send() {
    constexpr std::size_t kPeers = 48;
    constexpr std::size_t kLines = 1'500;
    std::string lines;
    for (std::size_t i = 0; i < kLines; ++i) {
      lines += "{\"op\":\"cleanup.done\"}\n";
    }
    for (std::size_t i = 0; i < kPeers; ++i) {
      crowd_.push_back(engine());
    }
    for (RawClient& one : crowd_) {
      one.write(lines);
    }
    return kPeers * kLines;
  }

  /// A line costs this in a slow build.
  static void be_slow() {
    auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (std::chrono::steady_clock::now() < end) {
    }
  }

  std::deque<RawClient> crowd_;
};

TEST_F(CrowdTest, What_a_peer_has_sent_before_the_shim_comes_first) {
  listen();
  RawClient shim(options_.engine_socket);
  shim.say(kShimHello);
  answer(shim);
  RawClient other = engine();
  other.write("{\"op\":\"cleanup.done\"}\n{\"op\":\"cleanup.done\"}\n{\"op\":\"cleanup.done\"}\n");
  shim.say(R"({"op":"ping","seq":1})");
  EXPECT_TRUE(until([&] { return observer_.count("message ping") == 1; }));
  EXPECT_EQ(observer_.events.back(), "message ping");
  EXPECT_EQ(observer_.messages, 4U);
}

TEST_F(CrowdTest, The_shim_does_not_wait_for_all_lines_of_a_crowd) {
  listen();
  RawClient shim(options_.engine_socket);
  shim.say(kShimHello);
  answer(shim);
  PeerId const its_id = observer_.peers.back();
  std::size_t of_crowd = 0;
  bool is_heard = false;
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq) {
    is_heard = is_heard || peer == its_id;
    of_crowd += is_heard ? 0 : 1;
    be_slow();
  };
  std::size_t const all = let_a_crowd_send();
  shim.say(R"({"op":"ping","seq":1})");
  EXPECT_TRUE(until([&] { return is_heard; }));
  EXPECT_LT(of_crowd, all / 2);
}

TEST_F(CrowdTest, A_shim_that_connects_does_not_wait_for_all_lines_of_a_crowd) {
  listen();
  observer_.on_message = [](PeerId, ToSupervisor const&, Seq) { be_slow(); };
  std::size_t const all = let_a_crowd_send();
  RawClient shim(options_.engine_socket);
  shim.say(kShimHello);
  EXPECT_TRUE(answer(shim).starts_with(R"({"op":"welcome")"));
  EXPECT_LT(observer_.messages, all / 2);
}

TEST_F(CrowdTest, One_engine_more_than_allowed_is_refused_as_busy_and_a_free_place_is_used_again) {
  listen_to_a_crowd();
  RawClient third(options_.engine_socket);
  third.say(kEngineHello);
  EXPECT_EQ(error(third).code, ErrorCode::busy);
  EXPECT_TRUE(is_closed(third));
  EXPECT_EQ(observer_.errors[ErrorCode::busy], 1);
  crowd_.front().close();
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
  engine();
}

TEST_F(CrowdTest, The_shim_gets_in_when_every_place_is_taken) {
  listen_to_a_crowd();
  EXPECT_TRUE(is_welcome(options_.engine_socket, kShimHello));
}

TEST_F(CrowdTest, Operators_get_in_when_every_place_of_the_engines_is_taken) {
  listen_to_a_crowd();
  EXPECT_TRUE(is_welcome(options_.admin_socket, kOperatorHello));
}

TEST_F(CrowdTest, The_shim_gets_in_through_a_crowd_that_sends_nothing) {
  listen_to_a_crowd();
  for (int i = 0; i < 200; ++i) {
    crowd_.emplace_back(options_.engine_socket);
    io_.restart();
    io_.poll();
  }
  EXPECT_GT(observer_.errors[ErrorCode::busy], 100) << "the oldest ones made room";
  EXPECT_EQ(error(crowd_[2]).code, ErrorCode::busy);
  EXPECT_TRUE(is_closed(crowd_[2]));
  EXPECT_TRUE(is_welcome(options_.engine_socket, kShimHello));
}

TEST_F(CrowdTest, One_process_holds_no_more_than_its_part) {
  options_.max_of_process = 2;
  options_.max_admin_of_process = 1;
  listen();
  crowd_.push_back(engine());
  crowd_.push_back(engine());
  RawClient third(options_.engine_socket);
  EXPECT_EQ(error(third).message, "too many connections of this process");
  EXPECT_TRUE(is_closed(third));
  EXPECT_TRUE(is_welcome(options_.admin_socket, kOperatorHello));
  RawClient second_operator(options_.admin_socket);
  EXPECT_EQ(error(second_operator).code, ErrorCode::busy);
  crowd_.front().close();
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
  engine();
}

TEST_F(CrowdTest, The_admin_socket_has_a_limit_of_its_own) {
  options_.max_admin_connections = 1;
  listen();
  EXPECT_TRUE(is_welcome(options_.admin_socket, kOperatorHello));
  RawClient second(options_.admin_socket);
  EXPECT_EQ(error(second).code, ErrorCode::busy);
  engine();
}

TEST_F(CrowdTest, Refused_and_dropped_lines_are_reported_for_counting) {
  listen();
  RawClient garbage = engine();
  garbage.say("nonsense");
  EXPECT_EQ(error(garbage).code, ErrorCode::bad_json);
  RawClient lost(options_.engine_socket);
  lost.say(kOperatorHello);
  EXPECT_EQ(error(lost).code, ErrorCode::not_allowed);
  RawClient odd = engine();
  odd.say(R"({"op":"dance"})");
  EXPECT_EQ(error(odd).code, ErrorCode::unknown_op);
  EXPECT_EQ(observer_.errors[ErrorCode::bad_json], 1);
  EXPECT_EQ(observer_.errors[ErrorCode::not_allowed], 1);
  EXPECT_EQ(observer_.errors[ErrorCode::unknown_op], 1);
  EXPECT_EQ(observer_.drops[Drop::protocol], 1);
  EXPECT_EQ(observer_.drops[Drop::not_allowed], 1);
}

}  // namespace
}  // namespace lastcall::ipc::test
