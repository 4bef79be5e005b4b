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

  std::deque<RawClient> crowd_;
};

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
