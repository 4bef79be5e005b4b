#include "shim/messages.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace lastcall::shim {
namespace {

TEST(ShimMessages, Every_order_of_the_protocol_is_understood) {
  Decoded const welcome =
      decode(R"({"op":"welcome","version":1,"phase":"serving","grace_ms":60000,)"
             R"("budgets":{"deregister_ms":5000,"late_accept_ms":1000,)"
             R"("cleanup_reserve_ms":4000,"cancel_settle_ms":1000}})");
  EXPECT_EQ(welcome.problem, ErrorCode::none);
  EXPECT_EQ(welcome.order.grace, Duration{60'000});
  EXPECT_EQ(welcome.order.reserve, Duration{4'000});
  EXPECT_TRUE(welcome.order.supported_version);
  EXPECT_FALSE(welcome.order.rest_grace.has_value());

  EXPECT_EQ(decode(R"({"op":"welcome","version":1,"rest_grace_ms":0})").order.rest_grace,
            Duration{0});

  Decoded const phase = decode(R"({"op":"phase","phase":"draining","deadline_at_ms":123})");
  EXPECT_EQ(phase.order.phase_is_up, false);
  EXPECT_EQ(phase.order.deadline, instant_from_ms(123));
  EXPECT_EQ(decode(R"({"op":"phase","phase":"serving","deadline_at_ms":null})").order.deadline,
            std::nullopt);

  Decoded const order = decode(R"({"op":"engine.signal","seq":4,"name":"TERM","scope":"all"})");
  EXPECT_EQ(order.order.signal, SIGTERM);
  EXPECT_TRUE(order.order.whole_tree);
  EXPECT_EQ(order.order.seq, 4);
  EXPECT_FALSE(decode(R"({"op":"engine.signal","name":"SIGKILL"})").order.whole_tree);

  Decoded const exit = decode(R"({"op":"exit","code":137,"report":"{}"})");
  EXPECT_EQ(exit.order.exit_code, 137);
  EXPECT_EQ(exit.order.raw_report, R"("{}")");

  Decoded const will = decode(R"({"op":"will","mode":"fatal","deadline_at_ms":9,"code":1,)"
                              R"("report":"{\"cause\":\"dead\"}"})");
  EXPECT_EQ(will.problem, ErrorCode::none);
  EXPECT_TRUE(will.order.fatal);
  EXPECT_EQ(will.order.deadline, instant_from_ms(9));
  EXPECT_EQ(will.order.exit_code, 1);
  EXPECT_EQ(will.order.raw_report, R"("{\"cause\":\"dead\"}")");
  EXPECT_EQ(decode(R"({"op":"will","mode":"graceful","deadline_at_ms":9})").order.exit_code,
            std::nullopt);

  EXPECT_TRUE(decode(R"({"op":"error","code":"busy","message":"m"})").order.busy);
  EXPECT_FALSE(decode(R"({"op":"error","code":"conflict"})").order.busy);
}

TEST(Messages, A_scope_of_null_is_as_absent) {
  Decoded const order = decode(R"({"op":"engine.signal","name":"KILL","scope":null})");
  EXPECT_EQ(order.problem, ErrorCode::none);
  EXPECT_FALSE(order.order.whole_tree);
}

TEST(ShimMessages, Problems_are_told_apart_and_keep_the_seq) {
  EXPECT_EQ(decode("nonsense").problem, ErrorCode::bad_json);
  Decoded const unknown = decode(R"({"op":"future","seq":8})");
  EXPECT_EQ(unknown.problem, ErrorCode::unknown_op);
  EXPECT_EQ(unknown.order.seq, 8);
  EXPECT_EQ(decode(R"({"seq":8})").problem, ErrorCode::bad_field);
  EXPECT_EQ(decode(R"({"op":"exit","code":256})").problem, ErrorCode::bad_field);
  EXPECT_EQ(decode(R"({"op":"exit","code":0,"seq":-1})").problem, ErrorCode::bad_field);
  EXPECT_EQ(decode(R"({"op":"exit","report":"{}"})").problem, ErrorCode::bad_field);
  EXPECT_EQ(decode(R"({"op":"will","mode":"slow","deadline_at_ms":9})").problem,
            ErrorCode::bad_field);
  EXPECT_EQ(decode(R"({"op":"will","mode":"fatal"})").problem, ErrorCode::bad_field);
  EXPECT_EQ(
      decode(R"({"op":"will","mode":"fatal","deadline_at_ms":9,"report":"no object"})").problem,
      ErrorCode::bad_field);
}

TEST(ShimMessages, Answers_are_never_a_problem_so_that_nobody_answers_an_answer) {
  EXPECT_EQ(decode(R"({"op":"ack","seq":"x"})").problem, ErrorCode::none);
  EXPECT_EQ(decode(R"({"op":"error"})").problem, ErrorCode::none);
}

TEST(ShimMessages, Hello_of_each_state_is_golden) {
  EngineFacts engine;
  Hello hello{.name = "vllm", .boot = "0123456789abcdef", .engine = engine};
  TextOf<1024> waiting;
  write_hello(waiting, hello);
  EXPECT_EQ(waiting.view(), R"({"op":"hello","version":1,"role":"shim","name":"vllm",)"
                            R"("sdk":"lastcall-shim/)" LASTCALL_VERSION R"(",)"
                            R"("boot":"0123456789abcdef","run":false,)"
                            R"("engine":{"state":"waiting"}})"
                            "\n");

  hello.run = true;
  hello.engine = {.state = EngineFacts::State::exited,
                  .pid = 7,
                  .started_at = instant_from_ms(1'000),
                  .exited_at = instant_from_ms(2'000),
                  .ending = {.signal = SIGKILL},
                  .oom = true,
                  .ordered = false};
  hello.stop_at = instant_from_ms(1'500);
  hello.raw_blob = R"("raw \u0041")";
  TextOf<1024> exited;
  write_hello(exited, hello);
  EXPECT_EQ(exited.view(),
            R"({"op":"hello","version":1,"role":"shim","name":"vllm",)"
            R"("sdk":"lastcall-shim/)" LASTCALL_VERSION R"(",)"
            R"("boot":"0123456789abcdef","run":true,)"
            R"("engine":{"pid":7,"state":"exited","started_at_ms":1000,"exited_at_ms":2000,)"
            R"("signal":9,"oom":true,"ordered":false},"stop_at_ms":1500,"blob":"raw \u0041"})"
            "\n");
}

TEST(ShimMessages, Facts_and_answers_are_golden) {
  EngineFacts engine;
  engine.pid = 12;
  engine.started_at = instant_from_ms(5);
  engine.exited_at = instant_from_ms(6);
  engine.ending.code = 3;
  engine.ordered = true;
  TextOf<1024> out;
  write_engine_started(out, engine);
  write_engine_exited(out, engine);
  engine.alive = 2;
  write_engine_exited(out, engine);
  write_engine_tree(out, 2, R"(["vllm","a\"b"])");
  write_engine_tree(out, 0, "[]");
  write_engine_died(
      out, {.pid = 42, .name = "VLLM::EngineCore", .signal = SIGKILL, .at = instant_from_ms(7)});
  write_engine_died(out, {.pid = 43, .name = "VLLM::Worker", .at = instant_from_ms(8)});
  write_engine_stopped(out, 42, "VLLM::EngineCore");
  write_signal(out, 2, SIGTERM, instant_from_ms(9));
  write_ack(out, 4);
  write_error(out, 5, ErrorCode::bad_field, "why");
  write_error(out, std::nullopt, ErrorCode::too_long, "why");
  EXPECT_EQ(out.view(), R"({"op":"engine.started","pid":12,"at_ms":5}
{"op":"engine.exited","code":3,"oom":false,"ordered":true,"at_ms":6}
{"op":"engine.exited","code":3,"oom":false,"ordered":true,"at_ms":6,"alive":2}
{"op":"engine.tree","alive":2,"names":["vllm","a\"b"]}
{"op":"engine.tree","alive":0}
{"op":"engine.died","pid":42,"name":"VLLM::EngineCore","signal":9,"at_ms":7}
{"op":"engine.died","pid":43,"name":"VLLM::Worker","at_ms":8}
{"op":"engine.stopped","pid":42,"name":"VLLM::EngineCore"}
{"op":"signal","seq":2,"name":"TERM","at_ms":9}
{"op":"ack","seq":4}
{"op":"error","seq":5,"code":"bad_field","message":"why"}
{"op":"error","code":"too_long","message":"why"}
)");
}

TEST(ShimMessages, A_death_after_the_stop_signal_names_the_survivors) {
  TextOf<1024> out;
  write_engine_died(out, {.pid = 44,
                          .name = "core_1",
                          .at = instant_from_ms(9),
                          .ordered = true,
                          .alive = 2,
                          .raw_names = R"(["core_0"])"});
  write_engine_died(out, {.pid = 45,
                          .name = "core_0",
                          .at = instant_from_ms(9),
                          .ordered = true,
                          .alive = 0,
                          .raw_names = "[]"});
  EXPECT_EQ(out.view(),
            R"({"op":"engine.died","pid":44,"name":"core_1","at_ms":9,"ordered":true,"alive":2,)"
            R"("names":["core_0"]})"
            "\n"
            R"({"op":"engine.died","pid":45,"name":"core_0","at_ms":9,"ordered":true,"alive":0})"
            "\n");
}

}  // namespace
}  // namespace lastcall::shim
