#include "supervisor/runtime/event_log.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lastcall::runtime {
namespace {

using namespace lifecycle;

std::vector<Event> every_event() {
  std::string const text = "a\"b\\c\n\x01 caf\xC3\xA9";
  return {SupervisorStarted{},
          StopRecordRead{text},
          OwnSignal{"TERM"},
          DeletionSeen{},
          TimerExpired{},
          ShimHello{.boot = "b",
                    .run = true,
                    .engine = EngineState::exited,
                    .exit = {.code = 3, .signal = 9, .oom = true},
                    .ordered = true,
                    .stop_at = instant_from_ms(42),
                    .blob = text},
          ShimDisconnected{true},
          ShimGone{},
          StopSignalHeld{"INT", instant_from_ms(7)},
          EngineStarted{},
          EngineExited{.exit = {.code = 1, .signal = 0, .oom = true}, .ordered = true},
          DrainRequested{.exit = true, .timeout = Duration{5}},
          ResumeRequested{},
          CancelRequested{.by = 4,
                          .ids = {"a", text},
                          .root = "r",
                          .mode = CancelMode::kill,
                          .reason = CancelReason::operator_},
          PeerConnected{.peer = 9, .name = text, .critical = true, .watched = true, .live = 3},
          PeerDisconnected{9},
          PeerGone{9},
          EndpointRegistered{9, "generate", false},
          EndpointUnregistered{9, "generate"},
          RequestBegun{.peer = 9,
                       .id = "i",
                       .root = "r",
                       .parent = "p",
                       .endpoint = "e",
                       .model = "m",
                       .admit = true,
                       .resumed = true},
          RequestEnded{9, "i", Outcome::migrated},
          RequestProgressed{9, {"i", "j"}},
          CancelConfirmed{9, "i"},
          PeerFatal{9, "reason", text},
          PeerCleanedUp{9},
          CheckFinished{2, CheckVerdict::timed_out, text},
          GaugesRead{5},
          GaugesRead{std::nullopt},
          RegistrySettled{1, true, text},
          CleanupSettled{CleanupItem::paths, ItemOutcome::failed, text}};
}

TEST(EventLog, Every_event_is_read_back_as_it_was_written) {
  for (Event const& event : every_event()) {
    std::string const text = event_log::encode(event);
    event_log::Decoded const decoded = event_log::decode_event(text);
    ASSERT_TRUE(decoded.event) << text << ": " << decoded.problem;
    EXPECT_EQ(decoded.event->index(), event.index()) << text;
    EXPECT_EQ(event_log::encode(*decoded.event), text);
  }
}

TEST(EventLog, The_list_of_this_test_has_every_event) {
  std::vector<bool> seen(std::variant_size_v<Event>);
  for (Event const& event : every_event()) {
    seen[event.index()] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
}

TEST(EventLog, Members_have_the_values_that_were_written) {
  auto const decoded = event_log::decode_event(
      R"({"type":"cancel_requested","ids":["x"],"mode":"kill","reason":"migrate","new_key":1})");
  ASSERT_TRUE(decoded.event);
  auto const& cancel = std::get<CancelRequested>(*decoded.event);
  EXPECT_EQ(cancel.ids, std::vector<std::string>{"x"});
  EXPECT_EQ(cancel.mode, CancelMode::kill);
  EXPECT_EQ(cancel.reason, CancelReason::migrate);
  EXPECT_FALSE(cancel.by);
}

TEST(EventLog, What_is_no_event_is_refused_with_the_reason) {
  EXPECT_NE(event_log::decode_event("[]").problem, "");
  EXPECT_NE(event_log::decode_event(R"({"type":"nonsense"})").problem.find("nonsense"),
            std::string::npos);
  auto const wrong = event_log::decode_event(R"({"type":"peer_gone","peer":"x"})");
  EXPECT_FALSE(wrong.event);
  EXPECT_NE(wrong.problem.find("peer"), std::string::npos);
  EXPECT_FALSE(event_log::decode_event(R"({"type":"request_ended","outcome":"maybe"})").event);
}

TEST(EventLog, Actions_are_one_json_array) {
  std::vector<Action> const actions{Remember{"a\"b"}, StopBegun{.cause = "signal", .detail = "\n"},
                                    RequestSettled{.endpoint = "e", .model = "m"}, Rearm{}};
  auto const json = nlohmann::json::parse(event_log::encode(actions));
  ASSERT_EQ(json.size(), actions.size());
  EXPECT_EQ(json[0]["blob"], "a\"b");
  EXPECT_EQ(json[2]["outcome"], "completed");
  EXPECT_EQ(json[3]["type"], "rearm");
}

}  // namespace
}  // namespace lastcall::runtime
