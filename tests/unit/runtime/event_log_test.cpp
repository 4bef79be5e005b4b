#include "supervisor/runtime/record/event_log.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/shapes.hpp"

namespace lastcall::runtime {
namespace {

using namespace lifecycle;

ShimHello a_hello(std::string const& text) {
  return {.boot = "b",
          .run = true,
          .engine = EngineState::exited,
          .exit = {.code = 3, .signal = 9, .oom = true},
          .started_at = instant_from_ms(40),
          .exited_at = instant_from_ms(41),
          .ordered = true,
          .stop_at = instant_from_ms(42),
          .blob = text};
}

std::vector<Event> every_event() {
  std::string const text = "a\"b\\c\n\x01 caf\xC3\xA9";
  return {SupervisorStarted{},
          StopRecordRead{text},
          OwnSignal{"TERM"},
          DeletionSeen{.grace = Duration{10'000}},
          EngineStopHook{},
          EngineReplaced{text},
          TimerExpired{Duration{1'500}},
          a_hello(text),
          ShimDisconnected{.watched = true, .oom = true},
          ShimGone{.oom = true},
          StopSignalHeld{"INT", instant_from_ms(7)},
          EngineStarted{},
          EngineExited{.exit = {.code = 1, .oom = true}, .ordered = true, .at = instant_from_ms(8)},
          EngineProcessStopped{.pid = 17, .name = text},
          EngineTreeSeen{.alive = 2, .names = {text, "worker"}},
          EngineProcessDied{.pid = 18,
                            .name = text,
                            .signal = 9,
                            .at = instant_from_ms(9),
                            .alive = 2,
                            .names = {text}},
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
                       .stream = false,
                       .admit = true,
                       .resumed = true,
                       .priority = 1},
          RequestEnded{9, "i", Outcome::migrated},
          RequestProgressed{9, {"i", "j"}},
          CancelConfirmed{9, "i"},
          PeerFatal{9, "reason", text},
          PeerCleanedUp{9},
          LoadReported{9, 3, 870, 1'000, 12'000},
          LoadReported{std::nullopt, 0, std::nullopt, std::nullopt, std::nullopt},
          AdmissionLimitsChanged{{.running = 4,
                                  .waiting = 2,
                                  .wait_timeout = Duration{500},
                                  .first_byte = 3,
                                  .priorities = true}},
          LoadThresholdsChanged{
              {.decode_ppm = 850'000, .prefill_tokens = 10'000, .max_age = Duration{2'000}}},
          CheckFinished{2, CheckVerdict::timed_out, text, Duration{900}},
          HealthLimitsChanged{.failure_thresholds = {1, 3},
                              .unresponsive_after = Duration{5'000},
                              .stalled_after = Duration{7'000},
                              .startup_timeout = Duration{9'000}},
          GaugesRead{5, 170'000, 6, 300'000},
          GaugesRead{std::nullopt, std::nullopt, std::nullopt, std::nullopt},
          EngineRests{true},
          TokenSent{3},
          TokenAnswered{3, TokenOutcome::refused},
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

/// Converts to whatever a member is.
struct Anything {
  template <typename T>
  operator T() const {  // NOLINT: implicit on purpose
    return T{};
  }
};

template <typename T, typename... Members>
constexpr std::size_t members_of() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return members_of<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

template <typename Type>
void expect_every_member_in_its_shape() {
  Type value{};
  std::size_t visited = 0;
  auto visitor = [&visited](auto&&...) { ++visited; };
  Shape<Type>::visit(value, visitor);
  EXPECT_EQ(visited, members_of<Type>()) << Shape<Type>::kName << ": " << Shape<Type>::kLine;
}

template <typename... Types>
void expect_every_member_in_their_shapes(std::variant<Types...> const* /*kinds*/) {
  (expect_every_member_in_its_shape<Types>(), ...);
}

TEST(EventLog, Shapes_name_every_member_of_their_event_action_or_part) {
  using Parts =
      std::variant<EngineExit, AdmissionLimits, LoadThresholds, LoadExcess, CheckSettings>;
  expect_every_member_in_their_shapes(static_cast<Event const*>(nullptr));
  expect_every_member_in_their_shapes(static_cast<Action const*>(nullptr));
  expect_every_member_in_their_shapes(static_cast<Parts const*>(nullptr));
}

TEST(EventLog, Numbers_that_do_not_fit_are_refused) {
  for (char const* const text :
       {R"({"type":"check_finished","check":4294967296})",
        R"({"type":"check_finished","check":-1})", R"({"type":"drain_requested","timeout_ms":-5})",
        R"({"type":"drain_requested","timeout_ms":1000000000000001})",
        R"({"type":"stop_signal_held","at_ms":9223372036854775807})"}) {
    EXPECT_FALSE(event_log::decode_event(text).event) << text;
  }
}

TEST(EventLog, Settings_are_read_back_as_they_were_written) {
  Settings settings;
  settings.shutdown.grace_period = Duration{1};
  settings.shutdown.drain_unknown = Duration{2};
  settings.pod_grace = Duration{3};
  settings.migrate = MigratePolicy::at_start;
  settings.second_signal = SecondSignal::force;
  settings.after_stop = AfterStop::exit;
  settings.on_exit = OnExit::propagate;
  settings.stop_signal = "INT";
  settings.health.checks = {{"a\"b", 1}, {"c", 7}};
  settings.health.stalled_after = Duration{4};
  settings.registries = 5;
  settings.cleanup_paths = true;
  settings.gauge_refresh = Duration{6};
  settings.load_counts = true;
  settings.token = {.barrier = true, .canary = true};
  settings.admission = {.running = 7,
                        .waiting = 8,
                        .wait_timeout = Duration{9},
                        .first_byte = 10,
                        .priorities = true};
  settings.load = {.decode_ppm = 11, .prefill_tokens = 12, .max_age = Duration{13}};
  std::string const text = event_log::encode(settings);
  event_log::DecodedSettings const decoded = event_log::decode_settings(text);
  ASSERT_TRUE(decoded.settings) << decoded.problem;
  EXPECT_EQ(event_log::encode(*decoded.settings), text);
  EXPECT_NE(text, event_log::encode(Settings{}));
  EXPECT_EQ(decoded.settings->health.checks.at(1).failure_threshold, 7U);
  EXPECT_EQ(decoded.settings->pod_grace, Duration{3});
}

TEST(EventLog, Settings_of_another_kind_are_refused_by_name) {
  EXPECT_EQ(event_log::decode_settings(R"({"migrate":"never"})").problem,
            "migrate: not a value of that setting");
  EXPECT_EQ(event_log::decode_settings(R"({"pod_grace_ms":"x"})").problem,
            "pod_grace_ms: not a value of that setting");
  EXPECT_FALSE(event_log::decode_settings("[]").settings);
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

TEST(EventLog, Nothing_of_an_event_is_lost) {
  auto const decoded = event_log::decode_event(event_log::encode(every_event()[7]));
  auto const& hello = std::get<ShimHello>(decoded.event.value());
  EXPECT_EQ(hello.started_at, instant_from_ms(40));
  EXPECT_EQ(hello.exited_at, instant_from_ms(41));
  EXPECT_EQ(hello.stop_at, instant_from_ms(42));
  EXPECT_EQ(hello.exit, (EngineExit{.code = 3, .signal = 9, .oom = true}));
}

TEST(EventLog, Text_that_is_no_event_is_refused_with_the_reason) {
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
