// The client and what it sends to a supervisor: requests, cancels, callbacks, answers.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lastcall/client.hpp>

#include "tests/unit/client/fake_supervisor.hpp"

namespace lastcall {
namespace {

using test::FakeSupervisor;
using test::kPatience;
using test::options_for;

TEST(Client, Without_a_socket_everything_works_and_nothing_is_sent) {
  ClientOptions options;
  options.socket = "";
  Client client(options);
  EXPECT_FALSE(client.is_enabled());
  EXPECT_EQ(client.native_handle(), -1);
  client.register_endpoint("generate");
  RequestContext const context = client.begin_admitted({.id = "r"});
  EXPECT_EQ(client.find("r"), context);
  EXPECT_EQ(client.in_flight(), 1U);
  EXPECT_THROW(client.begin({.id = "r"}), std::invalid_argument);
  EXPECT_EQ(client.stop_root("r"), 1U);
  EXPECT_TRUE(context.end());
  EXPECT_EQ(context.outcome(), Outcome::cancelled);
  EXPECT_EQ(client.in_flight(), 0U);
  EXPECT_FALSE(client.report_fatal("broken").get());
  client.process();
}

TEST(Client, A_path_that_no_socket_can_have_is_refused) {
  ClientOptions options;
  options.socket = std::string(200, 'x');
  EXPECT_THROW(Client{options}, std::invalid_argument);
}

TEST(Client, A_path_with_a_zero_byte_is_refused_instead_of_what_precedes_it) {
  FakeSupervisor supervisor;
  supervisor.listen();
  ClientOptions options;
  options.socket = supervisor.path() + std::string(1, '\0') + "x";
  try {
    Client const client(options);
    FAIL() << "it connects to " << supervisor.path();
  } catch (std::invalid_argument const& refusal) {
    EXPECT_THAT(refusal.what(), testing::EndsWith("expected a path without a zero byte"));
  }
}

class WithSupervisor : public testing::Test {
 protected:
  void SetUp() override { supervisor.listen(); }

  FakeSupervisor supervisor;
};

TEST_F(WithSupervisor, Sends_hello_endpoints_requests_and_their_ends) {
  auto options = options_for(supervisor);
  options.critical = true;
  Client client(options);
  client.register_endpoint("generate", false, "m");
  ipc::Hello const hello = supervisor.welcome();
  EXPECT_EQ(hello.name, "engine");
  EXPECT_TRUE(hello.critical);
  EXPECT_TRUE(hello.sdk.starts_with("cpp/"));
  EXPECT_EQ(supervisor.next<ipc::EndpointRegister>(),
            (ipc::EndpointRegister{"generate", false, "m"}));
  RequestContext const first =
      client.begin({.id = "r", .endpoint = "generate", .model = "m", .stream = true});
  EXPECT_EQ(supervisor.next<ipc::RequestBegin>(),
            (ipc::RequestBegin{.id = "r", .endpoint = "generate", .model = "m", .stream = true}));
  RequestContext const sub = client.begin({.id = "r/1", .parent = first});
  EXPECT_EQ(supervisor.next<ipc::RequestBegin>(),
            (ipc::RequestBegin{.id = "r/1", .root = "r", .parent = "r"}));
  sub.end();
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>(), (ipc::RequestEnd{"r/1", ipc::Outcome::completed}));
  first.end(Outcome::error);
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>(), (ipc::RequestEnd{"r", ipc::Outcome::error}));
}

TEST_F(WithSupervisor, Sends_the_end_of_a_name_that_is_too_long_or_no_UTF_8_so_that_it_is_taken) {
  auto options = options_for(supervisor);
  options.name = std::string(200, '\xE9');
  Client client(options);
  EXPECT_EQ(supervisor.welcome().name, std::string(200, '?'));
  client.begin({.id = "bytes", .model = "m\xFF" + std::string(254, '\xE9')});
  EXPECT_EQ(supervisor.next<ipc::RequestBegin>().model, "m" + std::string(255, '?'));
  client.begin({.id = "long", .model = std::string(1'000'000, 'x') + "é/model"});
  EXPECT_EQ(supervisor.next<ipc::RequestBegin>().model, std::string(248, 'x') + "é/model");
  client.begin({.id = "cut", .model = "é" + std::string(255, 'y')});
  EXPECT_EQ(supervisor.next<ipc::RequestBegin>().model, std::string(255, 'y'));
}

TEST_F(WithSupervisor, Sends_how_urgent_a_request_is) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  RequestContext const urgent = client.begin({.id = "u", .priority = 0});
  EXPECT_EQ(supervisor.next<ipc::RequestBegin>(), (ipc::RequestBegin{.id = "u", .priority = 0}));
  EXPECT_THROW(client.begin({.id = "x", .priority = 8}), std::invalid_argument);
  EXPECT_FALSE(client.find("x"));
  supervisor.hang_up();
  supervisor.welcome();
  auto again = supervisor.next<ipc::RequestBegin>();
  again.began_at.reset();
  EXPECT_EQ(again, (ipc::RequestBegin{.id = "u", .resumed = true, .priority = 0}));
}

TEST_F(WithSupervisor, A_cancel_calls_back_and_its_end_confirms_it) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  RequestContext const context = client.begin({.id = "r"});
  RequestContext const child = client.begin({.id = "c", .parent = context});
  supervisor.next<ipc::RequestBegin>();
  supervisor.next<ipc::RequestBegin>();
  supervisor.say(R"({"op":"cancel","ids":["r","gone"],"mode":"stop","reason":"migrate"})");
  EXPECT_TRUE(context.wait_stopped(kPatience));
  EXPECT_EQ(context.reason(), Reason::migrate);
  EXPECT_TRUE(child.is_stopped());
  // The child rose by its parent: that is news to the supervisor.
  EXPECT_EQ(supervisor.next<ipc::Cancel>(),
            (ipc::Cancel{.ids = {"c"}, .reason = ipc::CancelReason::parent}));
  child.end();
  EXPECT_EQ(supervisor.next<ipc::CancelDone>().id, "c");
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>(), (ipc::RequestEnd{"c", ipc::Outcome::migrated}));
  EXPECT_TRUE(context.confirm());
  EXPECT_EQ(supervisor.next<ipc::CancelDone>().id, "r");
  context.end();
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>(), (ipc::RequestEnd{"r", ipc::Outcome::migrated}));
}

TEST_F(WithSupervisor, Own_cancels_of_many_requests_go_in_few_lines) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  RequestContext const top = client.begin({.id = "top"});
  for (int i = 0; i < 100; ++i) {
    client.begin({.parent = top});
  }
  for (int i = 0; i < 101; ++i) {
    supervisor.next<ipc::RequestBegin>();
  }
  top.kill(Reason::client_disconnect);
  auto const one = supervisor.next<ipc::Cancel>();
  auto const other = supervisor.next<ipc::Cancel>();
  EXPECT_EQ(one.ids.size() + other.ids.size(), 101U);
  EXPECT_EQ(one.mode, ipc::CancelMode::kill);
}

TEST_F(WithSupervisor, Progress_is_reported_in_batches_and_not_for_every_token) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  RequestContext const context = client.begin({.id = "r"});
  supervisor.next<ipc::RequestBegin>();
  for (int i = 0; i < 1000; ++i) {
    context.progress();
  }
  EXPECT_EQ(supervisor.next<ipc::RequestProgress>().ids, std::vector<std::string>{"r"});
  context.end();
  supervisor.next<ipc::RequestEnd>();
}

TEST_F(WithSupervisor, Asks_for_admission_and_receives_yes_and_no) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  std::promise<Admission> received;
  client.begin_admitted({.id = "a"},
                        [&](auto const&, Admission const& made) { received.set_value(made); });
  EXPECT_TRUE(supervisor.next<ipc::RequestBegin>().admit);
  supervisor.say(R"({"op":"admitted","id":"a"})");
  EXPECT_TRUE(received.get_future().get().may_run);
  std::thread answers([&] {
    supervisor.next<ipc::RequestBegin>();
    supervisor.say(R"({"op":"rejected","id":"b","reason":"overloaded","retry_after_ms":1500})");
  });
  try {
    client.begin_admitted({.id = "b"});
    ADD_FAILURE() << "it was refused";
  } catch (NotAdmitted const& refused) {
    EXPECT_EQ(refused.admission().refusal, Refusal::overloaded);
    EXPECT_EQ(refused.admission().retry_after, std::chrono::milliseconds(1500));
    EXPECT_STREQ(refused.what(), "request 'b' may not run: overloaded");
  }
  answers.join();
  EXPECT_EQ(client.in_flight(), 1U);
}

TEST_F(WithSupervisor, A_cancel_beats_the_wait_for_admission) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  std::promise<Admission> received;
  RequestContext const context = client.begin_admitted(
      {.id = "a"}, [&](auto const&, Admission const& made) { received.set_value(made); });
  supervisor.next<ipc::RequestBegin>();
  supervisor.say(R"({"op":"cancel","ids":["a"],"mode":"stop","reason":"operator"})");
  Admission const admission = received.get_future().get();
  EXPECT_FALSE(admission.may_run);
  EXPECT_FALSE(admission.refusal);
  supervisor.next<ipc::CancelDone>();
  EXPECT_EQ(supervisor.next<ipc::RequestEnd>().outcome, ipc::Outcome::cancelled);
}

TEST_F(WithSupervisor, Without_an_answer_a_request_starts_a_second_after_the_supervisor_is_gone) {
  Client client(options_for(supervisor));
  supervisor.accept();  // and never welcomes it
  RequestContext const context = client.begin_admitted({.id = "a"});
  EXPECT_FALSE(context.is_stopped());
}

TEST_F(WithSupervisor, Answers_health_deregister_cleanup_and_phases) {
  Client client(options_for(supervisor));
  std::promise<Phase> draining;
  Client::Done cleaned_up;
  std::promise<std::chrono::milliseconds> left;
  client.on_phase([&](Phase phase) {
    if (phase == Phase::draining) {
      draining.set_value(phase);
    }
  });
  client.on_health([] { return HealthAnswer{Health::busy, "one long prefill"}; });
  client.on_cleanup([&](std::chrono::milliseconds time, Client::Done done) {
    cleaned_up = std::move(done);
    left.set_value(time);
  });
  supervisor.welcome();
  supervisor.say(R"({"op":"health.check"})");
  EXPECT_EQ(supervisor.next<ipc::Health>(),
            (ipc::Health{ipc::HealthStatus::busy, "one long prefill"}));
  supervisor.say(R"({"op":"phase","phase":"draining","deadline_at_ms":1000000000000})");
  EXPECT_EQ(draining.get_future().get(), Phase::draining);
  EXPECT_TRUE(client.is_draining());
  EXPECT_GT(client.time_left(), std::chrono::milliseconds(1));
  client.on_deregister({});                  // there is nothing to leave, and nothing is sent
  supervisor.say(R"({"op":"deregister"})");  // there is no callback: confirmed at once
  supervisor.next<ipc::Deregistered>();
  client.on_deregister([](Client::Done const& done) { done(); });
  supervisor.next<ipc::Registered>();
  supervisor.say(R"({"op":"deregister"})");
  supervisor.next<ipc::Deregistered>();
  supervisor.say(R"({"op":"cleanup","deadline_at_ms":1000000000000})");
  EXPECT_GT(left.get_future().get(), std::chrono::milliseconds(1));
  cleaned_up();
  supervisor.next<ipc::CleanupDone>();
}

TEST_F(WithSupervisor, What_a_replaced_callback_holds_may_call_the_client_when_it_is_destroyed) {
  Client client(options_for(supervisor));
  int calls = 0;
  auto const caller = [&] {
    return std::shared_ptr<void>(nullptr, [&](void*) {
      (void)client.in_flight();
      ++calls;
    });
  };
  client.on_phase([held = caller()](Phase) {});
  client.on_health([held = caller()] { return HealthAnswer{}; });
  client.on_cleanup([held = caller()](std::chrono::milliseconds, Client::Done const&) {});
  client.on_deregister([held = caller()](Client::Done const&) {});
  client.on_phase({});
  client.on_health({});
  client.on_cleanup({});
  client.on_deregister({});
  EXPECT_EQ(calls, 4);
}

TEST_F(WithSupervisor, A_refused_begin_may_call_the_client_when_its_callback_is_destroyed) {
  Client client(options_for(supervisor));
  RequestContext const first = client.begin({.id = "a"});
  bool has_called = false;
  auto held = std::shared_ptr<void>(nullptr, [&](void*) { has_called = client.in_flight() == 1; });
  auto decided = [held = std::move(held)](RequestContext const&, Admission const&) {};
  EXPECT_THROW(client.begin_admitted({.id = "a"}, std::move(decided)), std::invalid_argument);
  EXPECT_TRUE(has_called);
}

TEST_F(WithSupervisor, Messages_with_a_seq_are_acked_and_unknown_ones_refused) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  supervisor.say(R"({"op":"phase","seq":7,"phase":"serving"})");
  EXPECT_EQ(supervisor.next<ipc::Ack>().seq, 7U);
  supervisor.say(R"({"op":"health.cleared","seq":6,"at_ms":1})");  // nothing is held back here
  EXPECT_EQ(supervisor.next<ipc::Ack>().seq, 6U);
  supervisor.say(R"({"op":"engine.start","seq":8})");
  ipc::Error const refused = supervisor.next<ipc::Error>();
  EXPECT_EQ(refused.seq, 8U);
  EXPECT_EQ(refused.code, ipc::ErrorCode::unknown_op);
  supervisor.say(R"({"op":"error","seq":1})");  // an answer, which is not answered itself
  supervisor.say(R"({"op":"cancel","seq":9,"ids":"r"})");
  ipc::Error const unreadable = supervisor.next<ipc::Error>();
  EXPECT_EQ(unreadable.seq, 9U);
  EXPECT_EQ(unreadable.code, ipc::ErrorCode::bad_field);
  supervisor.say("this is no JSON");
  EXPECT_EQ(supervisor.next<ipc::Error>().code, ipc::ErrorCode::bad_json);
  EXPECT_EQ(supervisor.line(), "") << "it closes";
  supervisor.welcome();
}

TEST_F(WithSupervisor, A_fatal_report_is_repeated_until_somebody_has_acked_it) {
  Client client(options_for(supervisor));
  supervisor.welcome();
  auto const received = client.report_fatal("EngineDeadError", std::string(200'000, 'x') + "end");
  auto const first = supervisor.next<ipc::Fatal>();
  EXPECT_EQ(first.reason, "EngineDeadError");
  EXPECT_TRUE(first.detail.starts_with("[...] ") && first.detail.ends_with("xend"));
  supervisor.hang_up();
  supervisor.welcome();
  std::uint64_t seq = 0;
  EXPECT_EQ(supervisor.next<ipc::Fatal>(&seq), first);
  supervisor.say(R"({"op":"ack","seq":)" + std::to_string(seq) + "}");
  EXPECT_TRUE(received.get());
}

}  // namespace
}  // namespace lastcall
