// What clients may do to the reading side.
#include "tests/unit/ipc/server_fixture.hpp"

namespace lastcall::ipc::test {
namespace {

TEST_F(ServerTest, Garbage_is_an_error_and_a_close) {
  listen();
  RawClient client = engine();
  client.write("\x16\x03\x01\x02 GET / HTTP/1.1\r\n");
  EXPECT_EQ(error(client).code, ErrorCode::bad_json);
  EXPECT_TRUE(is_closed(client));
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
}

TEST_F(ServerTest, Lines_after_a_bad_one_are_not_received) {
  listen();
  RawClient client = engine();
  client.write("nonsense\n{\"op\":\"deregistered\"}\n");
  EXPECT_EQ(error(client).code, ErrorCode::bad_json);
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
  EXPECT_EQ(observer_.messages, 0U);
}

TEST_F(ServerTest, A_line_of_a_mebibyte_is_too_long_and_its_sender_reads_so) {
  listen();
  RawClient client = engine();
  std::string const line(1 << 20, 'x');
  std::size_t sent = 0;
  // The server must read the rest away: a sender that is cut off may never read the answer.
  EXPECT_TRUE(until([&] {
    sent += client.try_write(std::string_view(line).substr(sent));
    return sent == line.size();
  }));
  EXPECT_EQ(error(client).code, ErrorCode::too_long);
  EXPECT_TRUE(is_closed(client));
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
}

TEST_F(ServerTest, Half_a_line_before_a_close_is_no_message) {
  listen();
  RawClient client = engine();
  client.write("{\"op\":\"deregistered\"}\n{\"op\":\"fatal\",\"reason\":\"x\"}");
  client.close();
  EXPECT_TRUE(until([&] { return observer_.count("disconnected") == 1; }));
  EXPECT_EQ(observer_.messages, 1U);
  EXPECT_EQ(observer_.reason, "closed by the peer");
}

TEST_F(ServerTest, A_peer_that_ends_only_its_sending_half_still_gets_its_answers) {
  listen();
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq seq) {
    server_->ack(peer, seq, R"({"phase":"serving"})");
  };
  RawClient client(options_.admin_socket);
  client.say(R"({"op":"hello","version":1,"role":"operator"})");
  client.say(R"({"op":"status","seq":1})");
  client.end_sending();
  answer(client);
  EXPECT_EQ(answer(client), R"({"op":"ack","seq":1,"result":{"phase":"serving"}})");
  EXPECT_TRUE(is_closed(client));
}

TEST_F(ServerTest, It_gets_even_answers_that_do_not_fit_into_the_socket) {
  listen();
  std::string const big = '"' + std::string(60'000, 'x') + '"';
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq seq) {
    server_->ack(peer, seq, big);
  };
  RawClient client(options_.admin_socket);
  client.say(R"({"op":"hello","version":1,"role":"operator"})");
  answer(client);
  for (int seq = 0; seq < 10; ++seq) {
    client.say(R"({"op":"status","seq":)" + std::to_string(seq) + "}");
  }
  client.end_sending();
  EXPECT_TRUE(until([&] { return observer_.messages == 10; }));
  io_.restart();
  io_.poll();  // the end is seen while most answers wait
  for (int seq = 0; seq < 10; ++seq) {
    EXPECT_EQ(answer(client),
              R"({"op":"ack","seq":)" + std::to_string(seq) + R"(,"result":)" + big + "}");
  }
  EXPECT_TRUE(is_closed(client));
}

TEST_F(ServerTest, Bytes_may_arrive_one_at_a_time) {
  listen();
  RawClient client = engine();
  for (char const c : std::string("{\"op\":\"request.begin\",\"id\":\"a\"}\n")) {
    client.write({&c, 1});
    io_.restart();
    io_.poll();
  }
  EXPECT_TRUE(until([&] { return observer_.messages == 1; }));
  EXPECT_EQ(std::get<RequestBegin>(observer_.last.message).id, "a");
}

TEST_F(ServerTest, An_empty_line_is_ignored) {
  listen();
  RawClient client = engine();
  client.write("\n \r\n{\"op\":\"deregistered\"}\n");
  EXPECT_TRUE(until([&] { return observer_.messages == 1; }));
}

TEST_F(ServerTest, An_unknown_op_and_a_missing_field_are_errors_and_the_peer_stays) {
  listen();
  RawClient client = engine();
  client.say(R"({"op":"dance","seq":1})");
  client.say(R"({"op":"request.begin","seq":2})");
  client.say(R"({"op":"request.end","id":"a"})");
  client.say(R"({"op":"deregistered","seq":3})");
  Error const unknown = error(client);
  EXPECT_EQ(unknown.code, ErrorCode::unknown_op);
  EXPECT_EQ(unknown.seq, 1U);
  Error const missing = error(client);
  EXPECT_EQ(missing.code, ErrorCode::bad_field);
  EXPECT_EQ(missing.seq, 2U);
  EXPECT_NE(missing.message.find("'id'"), std::string::npos);
  EXPECT_EQ(error(client).seq, std::nullopt);
  EXPECT_TRUE(until([&] { return observer_.messages == 1; }));
  EXPECT_EQ(observer_.last.seq, 3U);
}

TEST_F(ServerTest, An_answer_that_cannot_be_used_is_not_answered) {
  listen();
  RawClient client = engine();
  client.say(R"({"op":"error"})");
  client.say(R"({"op":"ack"})");
  client.say(R"({"op":"error","seq":1,"code":7,"message":"m"})");
  client.say(R"({"op":"error","seq":-1,"code":"busy"})");
  client.say(R"({"op":"ack","seq":"1"})");
  client.say(R"({"op":"dance","seq":1})");
  EXPECT_EQ(error(client).code, ErrorCode::unknown_op);
}

TEST_F(ServerTest, A_message_of_another_role_is_not_allowed_and_the_peer_stays) {
  listen();
  RawClient client = engine();
  client.say(R"({"op":"drain","seq":1,"exit":true})");
  client.say(R"({"op":"engine.exited","seq":2,"code":0})");
  EXPECT_EQ(error(client).code, ErrorCode::not_allowed);
  EXPECT_EQ(error(client).seq, 2U);
  EXPECT_EQ(observer_.messages, 0U);
  client.say(R"({"op":"deregistered"})");
  EXPECT_TRUE(until([&] { return observer_.messages == 1; }));
}

TEST_F(ServerTest, Answers_go_to_the_seq_that_asked) {
  listen();
  RawClient client = engine();
  observer_.on_message = [&](PeerId peer, ToSupervisor const& message, Seq seq) {
    if (std::get<RequestBegin>(message).id == "a") {
      server_->ack(peer, seq);
    } else {
      server_->error(peer, seq, ErrorCode::duplicate_id, "live already");
    }
  };
  client.say(R"({"op":"request.begin","seq":11,"id":"a"})");
  client.say(R"({"op":"request.begin","id":"a"})");
  client.say(R"({"op":"request.begin","seq":12,"id":"b"})");
  EXPECT_EQ(answer(client), R"({"op":"ack","seq":11})");
  Error const refused = error(client);
  EXPECT_EQ(refused.seq, 12U);
  EXPECT_EQ(refused.code, ErrorCode::duplicate_id);
}

TEST_F(ServerTest, An_answer_that_does_not_fit_into_a_line_becomes_an_error) {
  listen();
  RawClient client = engine();
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq seq) {
    server_->ack(peer, seq, '"' + std::string(kMaxLine, 'x') + '"');
  };
  client.say(R"({"op":"deregistered","seq":1})");
  EXPECT_EQ(error(client).code, ErrorCode::too_long);
}

TEST_F(ServerTest, A_flood_of_lines_is_received_completely_and_others_have_their_turn) {
  listen();
  RawClient flooding = engine();
  RawClient other = engine();
  std::string block;
  for (int i = 0; i < 1'000; ++i) {
    block += "{\"op\":\"request.progress\",\"ids\":[\"a\"]}\n";
  }
  std::size_t const total = block.size() * 50;
  std::size_t sent = 0;
  std::size_t heard_when_other_spoke = 0;
  observer_.on_message = [&](PeerId, ToSupervisor const& message, Seq) {
    if (std::holds_alternative<Deregistered>(message)) {
      heard_when_other_spoke = observer_.messages;
    }
  };
  EXPECT_TRUE(until([&] {
    std::size_t const at = sent % block.size();
    sent += sent < total ? flooding.try_write(std::string_view(block).substr(at)) : 0;
    if (sent > total / 4 && heard_when_other_spoke == 0) {
      heard_when_other_spoke = 1;
      other.say(R"({"op":"deregistered"})");
    }
    return sent == total && observer_.messages == 50'001;
  }));
  EXPECT_GT(heard_when_other_spoke, 1U);
  EXPECT_LT(heard_when_other_spoke, 50'001U);
}

TEST_F(ServerTest, A_callback_may_close_and_forget_the_peer_that_speaks) {
  listen();
  RawClient client = engine();
  observer_.on_message = [&](PeerId peer, ToSupervisor const&, Seq) {
    server_->close(peer);
    server_->forget(peer);
  };
  client.write("{\"op\":\"deregistered\"}\n{\"op\":\"deregistered\"}\n");
  EXPECT_TRUE(is_closed(client));
  EXPECT_EQ(observer_.messages, 1U);
  EXPECT_EQ(observer_.count("disconnected"), 0U);
}

}  // namespace
}  // namespace lastcall::ipc::test
