#include "router/continuation/held_leg.hpp"

#include <string>

#include <gtest/gtest.h>

#include "router/continuation/hint.hpp"
#include "tests/unit/router/continuation/chunks.hpp"

namespace lastcall::router::continuation {
namespace {

std::string const kBody =
    R"({"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":20})";

class HeldLegTest : public testing::Test {
 protected:
  HeldLegTest() {
    machine.begin_leg(Mode::ids_vllm);
    machine.receive(chunk({.role = true, .extra = prompt({1, 2})}), out);
    machine.receive(chunk({.text = "Hel", .ids = {10}}), out);
  }
  bool cut() {
    bool const is_cut = hand.cut(Mode::ids_vllm).has_value();
    if (is_cut) {
      machine.begin_leg(Mode::ids_vllm);
    }
    return is_cut;
  }
  std::string good() const { return chunk({.id = "b", .role = true, .extra = prompt({1, 2, 10})}); }

  Continuation machine{{.endpoint = "chat_completions", .body = kBody}};
  HeldLeg hand{machine};
  std::string out;
};

TEST_F(HeldLegTest, Output_of_the_old_leg_is_dropped_when_the_new_one_has_begun) {
  ASSERT_TRUE(cut());
  hand.receive_old(chunk({.text = "lo", .ids = {11}}), out);
  EXPECT_EQ(client_of(out).text, "Hel");
  hand.receive_new(good(), out);
  hand.receive_old(chunk({.text = "!", .ids = {12}}), out);
  EXPECT_EQ(hand.receive_new(chunk({.id = "b", .text = "p", .ids = {13}}), out).progress,
            Progress::verified_now);
  EXPECT_EQ(hand.state(), HeldLegState::moved);
  machine.receive(chunk({.id = "b", .ids = {3}, .finish = "stop"}) + kDone, out);
  EXPECT_EQ(client_of(out).text, "Help");
  EXPECT_EQ(client_of(out).dones, 1);
}

TEST_F(HeldLegTest, A_new_leg_that_is_proven_and_dies_in_one_read_has_taken_over) {
  ASSERT_TRUE(cut());
  hand.receive_old(chunk({.text = "lo", .ids = {11}}), out);
  Received const received = hand.receive_new(
      good() + chunk({.id = "b", .text = "p", .ids = {13}}) + event(R"({"error":{"code":500}})"),
      out);
  EXPECT_EQ(received.progress, Progress::failed);
  EXPECT_TRUE(received.verified);
  EXPECT_EQ(hand.state(), HeldLegState::moved);
  EXPECT_EQ(client_of(out).text, "Help");
  auto const next = machine.next(Mode::ids_vllm, out);
  ASSERT_TRUE(next);
  EXPECT_NE(next->body.find("[1,2,10,13]"), std::string::npos);
}

TEST_F(HeldLegTest, Output_of_the_old_leg_is_let_through_when_the_new_one_fails) {
  for (std::string const& bad :
       {chunk({.id = "b", .text = "Hel", .ids = {10}, .extra = prompt({1, 2})}),
        event(R"({"error":{"code":400}})"), std::string()}) {
    out.clear();
    ASSERT_TRUE(cut());
    std::string const more = chunk({.text = "lo", .ids = {11}});
    hand.receive_old(more.substr(0, 20), out);
    if (bad.empty()) {
      hand.release(out);
    } else {
      hand.receive_new(bad, out);
    }
    EXPECT_EQ(hand.state(), HeldLegState::released);
    machine.receive(more.substr(20), out);
    EXPECT_EQ(client_of(out).text, "lo") << bad;
  }
}

TEST_F(HeldLegTest, An_old_leg_that_completes_needs_no_new_one) {
  ASSERT_TRUE(cut());
  hand.receive_old(chunk({.text = "lo", .ids = {11}, .finish = "stop"}) + kDone, out);
  EXPECT_EQ(hand.old_ended(out).progress, Progress::done);
  EXPECT_EQ(hand.state(), HeldLegState::released);
  EXPECT_EQ(client_of(out).text, "Hello");
  EXPECT_EQ(client_of(out).dones, 1);
}

TEST_F(HeldLegTest, An_old_leg_that_dies_while_it_is_held_is_continued_from_all_it_sent) {
  ASSERT_TRUE(cut());
  hand.receive_old(chunk({.text = "lo", .ids = {11}}) + "data: {", out);
  EXPECT_EQ(hand.old_ended(out).progress, Progress::nothing);
  EXPECT_EQ(hand.release(out).progress, Progress::failed);
  EXPECT_EQ(client_of(out).text, "Hello");
  auto const next = machine.next(Mode::ids_vllm, out);
  ASSERT_TRUE(next);
  EXPECT_NE(next->body.find("[1,2,10,11]"), std::string::npos);
}

TEST_F(HeldLegTest, Too_much_of_the_old_leg_ends_the_wait) {
  ASSERT_TRUE(cut());
  std::string const more = chunk({.text = std::string(1000, 'x'), .ids = {11}});
  for (std::size_t held = 0; held <= HeldLeg::kMostHeld; held += more.size()) {
    hand.receive_old(more, out);
  }
  EXPECT_EQ(hand.state(), HeldLegState::released);
  EXPECT_GT(client_of(out).text.size(), 50'000U);
}

TEST_F(HeldLegTest, No_cut_is_made_where_ids_and_text_are_not_level) {
  machine.receive(chunk({.text = "lo wo", .ids = {11, 12}}), out);
  EXPECT_FALSE(cut());
  machine.receive(chunk({.text = "rld", .ids = {13}}), out);
  EXPECT_TRUE(cut());
}

TEST(Hint, It_is_read_from_the_comment_of_a_draining_worker_alone) {
  auto const hint = read_hint(R"( lastcall-handoff {"request_id": "r\"1", "deadline_ms": 250})");
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->request_id, "r\"1");
  EXPECT_EQ(hint->deadline_ms, 250U);
  EXPECT_FALSE(read_hint(" ping"));
  EXPECT_FALSE(read_hint(R"( lastcall-handoff {"request_id": 1, "deadline_ms": 250})"));
  EXPECT_FALSE(read_hint(R"( lastcall-handoff {"request_id": "1", "deadline_ms": -1})"));
  EXPECT_FALSE(read_hint(" lastcall-handoff {"));
}

TEST_F(HeldLegTest, The_hint_reaches_the_router_and_not_the_client) {
  out.clear();
  Received const received =
      machine.receive(": lastcall-handoff {\"request_id\": \"r\", \"deadline_ms\": 9}\n\n", out);
  EXPECT_EQ(received.hand_off_ms, std::optional<std::uint64_t>(9));
  EXPECT_FALSE(received.moved);
  EXPECT_EQ(out, "") << "the empty line after it is part of it";
  machine.receive("\n: ping\r\n", out);
  machine.receive("\r\n", out);
  EXPECT_EQ(out, "\n: ping\r\n\r\n") << "these are the engine's";
}

}  // namespace
}  // namespace lastcall::router::continuation
