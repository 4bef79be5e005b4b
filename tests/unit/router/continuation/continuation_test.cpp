#include "router/continuation/continuation.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/router/continuation/chunks.hpp"

namespace lastcall::router::continuation {
namespace {

std::string const kChat =
    R"({"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":20})";
std::string const kCompletion =
    R"({"model":"m","prompt":"once","stream":true,"seed":18446744073709551615})";

/// An exchange and what its client has.
struct Exchange {
  std::string body;
  Continuation machine;
  std::string out;

  Exchange(std::string request, std::string_view endpoint = "chat_completions")
      : body(std::move(request)), machine({.endpoint = endpoint, .body = body}) {}
  Received receive(std::string_view bytes) { return machine.receive(bytes, out); }
  Received end() { return machine.leg_ended(out); }
  std::optional<Continuation::Next> next(Mode mode) { return machine.next(mode, out); }
  Client client() const { return client_of(out); }
};

TEST(Continuation, A_first_leg_asks_for_what_its_worker_can_send) {
  Exchange chat(kChat);
  EXPECT_EQ(chat.machine.first_body(Mode::none), kChat);
  EXPECT_EQ(chat.machine.first_body(Mode::text),
            kChat.substr(0, kChat.size() - 1) +
                R"(,"stream_options":{"include_usage":true,"continuous_usage_stats":true}})");
  EXPECT_EQ(chat.machine.first_body(Mode::ids_vllm),
            kChat.substr(0, kChat.size() - 1) +
                R"(,"return_token_ids":true,"stream_options":{"include_usage":true,)"
                R"("continuous_usage_stats":true}})");
  // A chat's stream of SGLang answers 400 when ids are asked for.
  EXPECT_EQ(chat.machine.first_body(Mode::ids_sglang).find("return_token_ids"), std::string::npos);
}

TEST(Continuation, Options_of_a_stream_that_an_engine_refuses_stay_as_they_are) {
  std::string const body = kChat.substr(0, kChat.size() - 1) + R"(,"stream_options":[]})";
  EXPECT_EQ(Exchange(body).machine.first_body(Mode::text), body);
}

TEST(Continuation, A_client_that_asks_for_data_in_other_words_gets_it) {
  std::string const body = kChat.substr(0, kChat.size() - 1) +
                           R"(,"return_token_ids":1,"stream_options":{"include_usage":"true"}})";
  Exchange chat(body);
  chat.machine.begin_leg(Mode::ids_vllm);
  std::string const event = chunk({.text = "Hel", .ids = {10}});
  chat.receive(event);
  EXPECT_EQ(chat.out, event);
  chat.receive(usage_event("a", 3, 1));
  EXPECT_EQ(chat.client().usages.size(), 1U);
}

TEST(Continuation, A_leg_that_reports_ids_without_end_before_any_text_is_not_read_on) {
  for (bool const has_prompt : {false, true}) {
    Exchange chat(kChat);
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = prompt({1, 2, 3})}));
    chat.end();
    ASSERT_TRUE(chat.next(Mode::ids_vllm));
    chat.machine.begin_leg(Mode::ids_vllm);
    TokenIds const many(1000, 5);
    Received received = chat.receive(
        chunk({.id = "b", .ids = many, .extra = has_prompt ? prompt({1, 2, 3, 10}) : ""}));
    int events = 1;
    for (; events < 400 && received.progress != Progress::failed; ++events) {
      received = chat.receive(chunk({.id = "b", .ids = many}));
    }
    EXPECT_EQ(received.reason, "unproven");
    EXPECT_EQ(events, has_prompt ? 263 : 5);
  }
}

TEST(Continuation, A_chat_goes_on_by_ids) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.role = true, .extra = prompt({1, 2, 3}) + usage(3, 0)}));
  chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = usage(3, 1)}));
  chat.receive(chunk({.text = "lo", .ids = {11}, .extra = usage(3, 2)}));
  chat.receive(chunk({.ids = {12}, .extra = usage(3, 3)}));  // a part of a character
  EXPECT_EQ(chat.end().progress, Progress::failed);
  auto const next = chat.next(Mode::ids_vllm);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->way, Way::by_ids);
  EXPECT_NE(next->body.find(R"("kv_transfer_params":{"prompt_token_ids":[1,2,3,10,11]})"),
            std::string::npos)
      << next->body;
  EXPECT_NE(next->body.find(R"("max_tokens":18)"), std::string::npos) << next->body;
  chat.machine.begin_leg(Mode::ids_vllm);
  EXPECT_FALSE(
      chat.receive(chunk({.id = "b", .role = true, .extra = prompt({1, 2, 3, 10, 11})})).moved);
  EXPECT_EQ(chat.receive(chunk({.id = "b", .text = "!", .ids = {13}})).progress,
            Progress::verified_now);
  EXPECT_EQ(chat.receive(chunk({.id = "b", .ids = {2}, .finish = "stop"})).progress,
            Progress::more);
  EXPECT_EQ(chat.receive(usage_event("b", 5, 2) + kDone).progress, Progress::done);
  Client const client = chat.client();
  EXPECT_EQ(client.text, "Hello!");
  EXPECT_EQ(client.roles, 1);
  EXPECT_EQ(client.finishes, 1);
  EXPECT_EQ(client.dones, 1);
  EXPECT_TRUE(client.usages.empty()) << chat.out;  // it asked for none
  EXPECT_EQ(chat.out.find("token_ids"), std::string::npos);
  for (std::string const& id : client.ids) {
    EXPECT_EQ(id, "a");
  }
}

TEST(Continuation, A_completion_goes_on_by_text_with_usage_as_of_one_request) {
  Exchange one(R"({"model":"m","prompt":"on\u0063e","stream":true,"max_tokens":9,)"
               R"("stream_options":{"include_usage":true}})",
               "completions");
  one.machine.begin_leg(Mode::text);
  one.receive(chunk({.is_chat = false, .text = " a \"b\"", .extra = usage(4, 2)}));
  EXPECT_EQ(one.receive(event(R"({"error":{"message":"dead","code":500}})")).progress,
            Progress::failed);
  auto const next = one.next(Mode::text);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->way, Way::by_text);
  EXPECT_NE(next->body.find(R"("prompt":"on\u0063e a \"b\"")"), std::string::npos) << next->body;
  EXPECT_NE(next->body.find(R"("max_tokens":7)"), std::string::npos) << next->body;
  one.machine.begin_leg(Mode::text);
  EXPECT_EQ(one.receive(chunk({.id = "b", .is_chat = false, .text = " c", .extra = usage(6, 1)}))
                .progress,
            Progress::verified_now);
  one.receive(chunk({.id = "b", .is_chat = false, .finish = "length", .extra = usage(6, 1)}));
  EXPECT_EQ(one.receive(usage_event("b", 6, 1) + kDone).progress, Progress::done);
  Client const client = one.client();
  EXPECT_EQ(client.text, " a \"b\" c");
  ASSERT_EQ(client.usages.size(), 1U) << one.out;
  EXPECT_EQ(client.usages[0].prompt, 4U);
  EXPECT_EQ(client.usages[0].completion, 3U);
}

std::string logprobs_at(std::string const& offsets) {
  return R"(,"logprobs":{"tokens":["t"],"token_logprobs":[-0.5],"text_offset":[)" + offsets + "]}";
}

TEST(Continuation, Logprobs_of_a_completion_go_on_by_ids_and_count_from_the_begin_of_the_answer) {
  Exchange one(R"({"prompt":[1,2],"stream":true,"logprobs":1,"max_tokens":9})", "completions");
  one.machine.first_body(Mode::ids_vllm);
  one.machine.begin_leg(Mode::ids_vllm);
  one.receive(chunk({.is_chat = false,
                     .text = "\xC3\xA4 b",
                     .ids = {10},
                     .extra = prompt({1, 2}),
                     .inner = logprobs_at("0")}));
  EXPECT_EQ(one.end().progress, Progress::failed);
  EXPECT_FALSE(way_for(one.machine.known(), Mode::text)) << "it would be the prompt's";
  ASSERT_TRUE(one.next(Mode::ids_vllm));
  one.machine.begin_leg(Mode::ids_vllm);
  one.receive(chunk({.is_chat = false,
                     .text = " c",
                     .ids = {11},
                     .extra = prompt({1, 2, 10}),
                     .inner = logprobs_at("0")}));
  one.receive(chunk({.is_chat = false, .text = " d", .ids = {12}, .inner = logprobs_at("2")}));
  EXPECT_EQ(one.client().text, "\xC3\xA4 b c d");
  for (std::string const wanted : {"[0]", "[3]", "[5]"}) {
    EXPECT_NE(one.out.find("\"text_offset\":" + wanted), std::string::npos) << one.out;
  }
}

TEST(Continuation, Logprobs_that_the_client_has_are_not_sent_again) {
  Exchange one(R"({"prompt":[1,2],"stream":true,"logprobs":1,"max_tokens":9})", "completions");
  one.machine.first_body(Mode::ids_vllm);
  one.machine.begin_leg(Mode::ids_vllm);
  one.receive(chunk({.is_chat = false, .text = "a", .ids = {10}, .extra = prompt({1, 2})}));
  one.receive(chunk({.is_chat = false, .ids = {11}, .inner = logprobs_at("1")}));  // a part of one
  one.end();
  EXPECT_FALSE(way_for(one.machine.known(), Mode::ids_vllm));
  EXPECT_FALSE(one.next(Mode::ids_vllm));
}

TEST(Continuation, Each_mode_has_its_way_to_go_on) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  EXPECT_EQ(way_for(chat.machine.known(), Mode::none), Way::whole);
  chat.receive(chunk({.text = "a", .ids = {10}, .extra = prompt({1, 2}) + usage(2, 1)}));
  EXPECT_EQ(way_for(chat.machine.known(), Mode::ids_vllm), Way::by_ids);
  EXPECT_EQ(way_for(chat.machine.known(), Mode::ids_sglang), Way::by_ids);
  EXPECT_EQ(way_for(chat.machine.known(), Mode::text), Way::by_text);
  EXPECT_FALSE(way_for(chat.machine.known(), Mode::none));
  chat.receive(chunk({.text = "bc", .ids = {11, 12}, .extra = usage(2, 3)}));  // not level
  EXPECT_EQ(way_for(chat.machine.known(), Mode::ids_vllm), Way::by_text);
}

TEST(Continuation, A_chat_by_text_holds_white_space_back_and_sends_it_once) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::text);
  chat.receive(chunk({.text = "Hello", .role = true, .extra = usage(5, 1)}));
  chat.receive(chunk({.text = " \n", .extra = usage(5, 2)}));
  EXPECT_EQ(chat.client().text, "Hello");
  chat.end();
  auto const next = chat.next(Mode::text);
  ASSERT_TRUE(next);
  EXPECT_NE(next->body.find(R"({"role":"assistant","content":"Hello"}],)"), std::string::npos)
      << next->body;
  EXPECT_NE(next->body.find(R"("continue_final_message":true,"add_generation_prompt":false)"),
            std::string::npos);
  chat.machine.begin_leg(Mode::text);
  chat.receive(chunk({.id = "b", .role = true, .extra = usage(6, 0)}));
  chat.receive(chunk({.id = "b", .text = " \n", .extra = usage(6, 1)}));
  chat.receive(chunk({.id = "b", .text = "you", .finish = "stop", .extra = usage(6, 2)}));
  EXPECT_EQ(chat.client().text, "Hello \nyou");
}

TEST(Continuation, A_worker_that_starts_over_is_found_out_before_a_byte_goes_out) {
  for (std::string const& reported : {prompt({1, 2, 3}), usage(3, 1), std::string()}) {
    Exchange chat(kChat);
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.role = true, .extra = prompt({1, 2, 3})}));
    chat.receive(chunk({.text = "Hello", .ids = {10}}));
    chat.receive(event(R"({"error":{"type":"migrated","retryable":true,"code":503}})"));
    ASSERT_TRUE(chat.next(Mode::ids_vllm));
    chat.machine.begin_leg(Mode::ids_vllm);
    std::string const before = chat.out;
    Received const received =
        chat.receive(chunk({.id = "b", .text = "Hello", .ids = {10}, .extra = reported}));
    EXPECT_EQ(received.progress, Progress::failed) << reported;
    EXPECT_EQ(received.reason, reported.empty() ? "unproven" : "other_prompt");
    EXPECT_EQ(chat.out, before);
    EXPECT_TRUE(chat.next(Mode::ids_vllm)) << "another worker may do it";
  }
}

TEST(Continuation, A_false_end_reaches_nobody) {
  for (std::string const& end :
       {chunk({.finish = "abort"}) + kDone, event(R"({"error":{"code":500}})") + kDone,
        event(R"({"error":"dead"})") + kDone}) {
    Exchange chat(kChat);
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = prompt({1})}));
    EXPECT_EQ(chat.receive(end).progress, Progress::failed) << end;
    EXPECT_EQ(chat.client().dones, 0);
    EXPECT_EQ(chat.client().finishes, 0);
  }
}

TEST(Continuation, An_answer_that_its_engine_ends_without_a_finish_is_whole) {
  Exchange one(kCompletion, "completions");
  one.machine.begin_leg(Mode::none);
  std::string const stream =
      chunk({.is_chat = false, .text = "a"}) + chunk({.is_chat = false, .text = " b "}) + kDone;
  EXPECT_EQ(one.receive(stream).progress, Progress::done);
  EXPECT_EQ(one.out, stream);
  EXPECT_EQ(one.end().progress, Progress::done);
}

TEST(Continuation, An_end_without_a_finish_lets_out_what_was_held) {
  Exchange chat(R"({"messages":[{"role":"user","content":"hi"}],"stream":true,"stop":["END"]})");
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.role = true, .extra = prompt({1})}));
  chat.receive(chunk({.reasoning = "so E", .ids = {9}}));
  chat.receive(chunk({.text = "Hi EN", .ids = {10}}));
  EXPECT_EQ(chat.client().text, "Hi");
  EXPECT_EQ(chat.receive(kDone).progress, Progress::done);
  EXPECT_EQ(chat.client().text, "Hi EN");
  EXPECT_EQ(chat.client().reasoning, "so E");
  EXPECT_EQ(chat.client().dones, 1);
  EXPECT_EQ(chat.client().finishes, 0);
}

TEST(Continuation, A_leg_that_goes_on_may_end_without_a_finish_once_it_is_proven) {
  for (bool const is_proven : {false, true}) {
    Exchange chat(kChat);
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.text = "Hel", .role = true, .ids = {10}, .extra = prompt({1})}));
    chat.end();
    ASSERT_TRUE(chat.next(Mode::ids_vllm));
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.id = "b", .role = true, .extra = prompt({1, 10})}));
    if (is_proven) {
      chat.receive(chunk({.id = "b", .text = "p", .ids = {11}}));
    }
    Received const end = chat.receive(kDone);
    EXPECT_EQ(end.progress, is_proven ? Progress::done : Progress::failed);
    EXPECT_EQ(end.reason, is_proven ? "" : "unproven");
    EXPECT_EQ(chat.client().dones, is_proven ? 1 : 0);
  }
}

TEST(Continuation, An_end_before_any_word_is_believed_the_second_time) {
  for (std::string const& nothing : {std::string(), chunk({.role = true})}) {
    Exchange chat(kChat);
    chat.machine.begin_leg(Mode::text);
    Received const first = chat.receive(nothing + kDone);
    EXPECT_EQ(first.progress, Progress::failed);
    EXPECT_EQ(first.reason, "empty");
    ASSERT_TRUE(chat.next(Mode::text));
    chat.machine.begin_leg(Mode::text);
    EXPECT_EQ(chat.receive(nothing + kDone).progress, Progress::done);
    EXPECT_EQ(chat.client().dones, 1);
  }
}

TEST(Continuation, A_cut_behind_the_finish_is_no_cut) {
  Exchange chat(R"({"messages":[{"role":"user","content":"hi"}],"stream":true,)"
                R"("stream_options":{"include_usage":true}})");
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.text = "Hel", .role = true, .ids = {10}, .extra = prompt({1, 2})}));
  chat.receive(chunk({.ids = {3}, .finish = "stop"}));
  EXPECT_EQ(chat.end().progress, Progress::done);
  ASSERT_EQ(chat.client().usages.size(), 1U) << chat.out;
  EXPECT_EQ(chat.client().usages[0].completion, 2U);
  EXPECT_EQ(chat.client().dones, 1);
}

TEST(Continuation, An_answer_that_is_complete_ends_without_a_new_leg) {
  Exchange one(R"({"prompt":"once","stream":true,"max_tokens":2})", "completions");
  one.machine.begin_leg(Mode::ids_vllm);
  one.receive(chunk({.is_chat = false, .text = "a", .ids = {10}, .inner = prompt({1})}));
  one.receive(chunk({.is_chat = false, .text = "b", .ids = {11}}));
  one.end();
  auto const next = one.next(Mode::ids_vllm);
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->finished);
  EXPECT_NE(one.out.find(R"("finish_reason":"length")"), std::string::npos);
  EXPECT_EQ(one.client().dones, 1);
}

TEST(Continuation, Reasoning_goes_on_by_ids_and_never_by_text) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.role = true, .extra = prompt({1})}));
  chat.receive(chunk({.reasoning = "hm", .ids = {10}, .extra = usage(1, 1)}));
  chat.end();
  EXPECT_EQ(chat.machine.refused(), "");
  EXPECT_FALSE(chat.next(Mode::text));
  ASSERT_TRUE(chat.next(Mode::ids_vllm));
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.id = "b", .role = true, .extra = prompt({1, 10})}));
  chat.receive(chunk({.id = "b", .reasoning = ", yes", .ids = {11}}));
  EXPECT_EQ(chat.client().reasoning, "hm, yes");
}

/// Its engine ended the reasoning before a word of it, so its stream does not show that it reasons.
TEST(Continuation, Content_that_a_leg_by_text_takes_up_as_reasoning_goes_on_by_ids_alone) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.role = true, .extra = prompt({1, 2}) + usage(2, 0)}));
  chat.receive(chunk({.ids = {9}, .extra = usage(2, 1)}));
  chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = usage(2, 2)}));
  chat.end();
  auto const next = chat.next(Mode::text);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->way, Way::by_text);
  chat.machine.begin_leg(Mode::text);
  std::string const before = chat.out;
  chat.receive(chunk({.id = "b", .role = true, .extra = usage(3, 0)}));
  Received const received =
      chat.receive(chunk({.id = "b", .reasoning = "lo", .extra = usage(3, 1)}));
  EXPECT_EQ(received.progress, Progress::failed);
  EXPECT_EQ(received.reason, "reasons");
  EXPECT_EQ(chat.out, before);
  EXPECT_FALSE(chat.next(Mode::text)) << "another worker's parser would do the same";
  EXPECT_EQ(chat.machine.refused(), "");
  auto const by_ids = chat.next(Mode::ids_vllm);
  ASSERT_TRUE(by_ids);
  EXPECT_NE(by_ids->body.find("[1,2,9,10]"), std::string::npos) << by_ids->body;
}

TEST(Continuation, Content_that_would_be_taken_up_as_reasoning_is_refused_where_no_ids_are_known) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::text);
  chat.receive(chunk({.text = "Hel", .role = true, .extra = usage(2, 2)}));
  chat.end();
  ASSERT_TRUE(chat.next(Mode::text));
  chat.machine.begin_leg(Mode::text);
  chat.receive(chunk({.id = "b", .reasoning = "lo", .extra = usage(4, 1)}));
  EXPECT_EQ(chat.client().reasoning, "");
  EXPECT_EQ(chat.machine.refused(), "reasoning_by_text");
}

TEST(Continuation, The_first_prompts_ids_outlive_a_leg_by_text_that_sends_none) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(
      chunk({.text = "Hel", .role = true, .ids = {10}, .extra = prompt({1, 2, 3}) + usage(3, 1)}));
  chat.end();
  ASSERT_TRUE(chat.next(Mode::text));
  chat.machine.begin_leg(Mode::text);
  chat.receive(chunk({.id = "b", .text = "lo", .role = true, .extra = usage(4, 2)}));
  EXPECT_EQ(chat.client().text, "Hello");
  chat.end();
  ASSERT_TRUE(chat.next(Mode::ids_vllm));
  chat.machine.begin_leg(Mode::ids_vllm);
  // It started over: the prompt is about as long as what has been delivered of the answer.
  Received const received = chat.receive(
      chunk({.id = "c", .text = "Hel", .ids = {10}, .extra = prompt({1, 2, 3}) + usage(3, 1)}));
  EXPECT_EQ(received.reason, "other_prompt");
  EXPECT_EQ(chat.client().text, "Hello");
}

TEST(Continuation, With_stop_strings_ids_are_asked_of_vllm_alone) {
  for (bool const has_stop : {false, true}) {
    std::string const stop = has_stop ? R"(,"stop":["END"])" : "";
    Exchange one(R"({"prompt":"once","stream":true)" + stop + "}", "completions");
    auto const asks = [&one](Mode mode) {
      return one.machine.first_body(mode).find("return_token_ids") != std::string::npos;
    };
    EXPECT_TRUE(asks(Mode::ids_vllm));
    EXPECT_EQ(asks(Mode::ids_sglang), !has_stop);
  }
}

TEST(Continuation, Ids_of_an_engine_that_holds_text_back_for_stop_strings_are_not_taken_as_level) {
  for (Mode const mode : {Mode::ids_vllm, Mode::ids_sglang}) {
    Exchange one(R"({"prompt":"once","stream":true,"stop":["END"],"return_token_ids":true})",
                 "completions");
    one.machine.begin_leg(mode);
    one.receive(chunk({.is_chat = false, .text = "a", .ids = {10}, .inner = prompt({1})}));
    // SGLang holds up to two characters back: this may be the text of an earlier id.
    one.end();
    EXPECT_EQ(one.machine.refused(), mode == Mode::ids_vllm ? "" : "ids_not_level");
  }
}

/// SGLang's find_printable_text(): the id of " " may be that of " \xF0\x9F\x98".
TEST(Continuation, Ids_whose_text_may_precede_a_part_of_a_character_are_not_taken_as_level) {
  std::string const rare = "\xF0\xA0\x80\x80";  // U+20000
  for (auto const& [text, is_clean] :
       std::initializer_list<std::pair<std::string, bool>>{{" ", false},
                                                           {"a ", false},
                                                           {"\xE6\x97\xA5", false},
                                                           {"a" + rare, false},
                                                           {"\n", true},
                                                           {"a", true},
                                                           {" a", true},
                                                           {"\xE3\x81\x82", true},
                                                           {"\xF0\x9F\x99\x82", true},
                                                           {"\xC3\xA4", true}}) {
    for (Mode const mode : {Mode::ids_sglang, Mode::ids_vllm}) {
      Exchange one(kCompletion, "completions");
      one.machine.begin_leg(mode);
      one.receive(chunk({.is_chat = false, .text = "x", .ids = {10}, .inner = prompt({1})}));
      one.receive(chunk({.is_chat = false, .text = text, .ids = {11}}));
      one.end();
      bool const is_level = one.machine.transcript().is_level();
      EXPECT_EQ(is_level, is_clean || mode == Mode::ids_vllm) << text;
      EXPECT_NE(is_level, one.machine.transcript().confirm(text)) << "there is nothing to prove";
      EXPECT_EQ(way_for(one.machine.known(), mode), Way::by_ids);
    }
  }
}

TEST(Continuation, Several_ids_in_an_event_need_a_detokenized_tail_or_go_by_text) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = prompt({1}) + usage(1, 1)}));
  chat.receive(chunk({.text = "lo", .ids = {11, 12}, .extra = usage(1, 3)}));
  chat.end();
  auto const by_text = chat.next(Mode::ids_vllm);
  ASSERT_TRUE(by_text);
  EXPECT_EQ(by_text->way, Way::by_text);
  EXPECT_EQ(chat.machine.transcript().tail_ids(), (TokenIds{11, 12}));
  EXPECT_FALSE(chat.machine.transcript().confirm("lo\xEF\xBF\xBD"));
  EXPECT_TRUE(chat.machine.transcript().confirm("lo"));
  EXPECT_EQ(chat.next(Mode::ids_vllm)->way, Way::by_ids);
}

TEST(Continuation, Ids_behind_the_last_text_are_no_part_of_the_proof) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.text = "Hello", .ids = {10, 11, 12}, .extra = prompt({1}) + usage(1, 3)}));
  chat.receive(chunk({.ids = {13}, .extra = usage(1, 4)}));  // a part of a character
  chat.end();
  EXPECT_EQ(ids_to_prove(chat.machine.known()), (TokenIds{10, 11, 12}));
  EXPECT_TRUE(chat.machine.transcript().confirm("Hello"));
  EXPECT_EQ(ids_to_prove(chat.machine.known()), TokenIds{});
  auto const next = chat.next(Mode::ids_vllm);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->way, Way::by_ids);
  EXPECT_NE(next->body.find(R"("prompt_token_ids":[1,10,11,12])"), std::string::npos);
}

TEST(Continuation, The_prompt_that_a_detokenizer_gives_out_is_found) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = prompt({1})}));
  chat.end();
  ASSERT_TRUE(chat.next(Mode::ids_vllm));
  chat.machine.begin_leg(Mode::ids_vllm);
  Received const received =
      chat.receive(chunk({.id = "b",
                          .text = "this is a secret prompt of somebody: Hello",
                          .ids = {11},
                          .extra = prompt({1, 10})}));
  EXPECT_EQ(received.reason, "leaks_prompt");
  EXPECT_EQ(chat.client().text, "Hel");
}

/// A chat of SGLang takes ids and reports none.
TEST(Continuation, The_prompt_is_found_too_where_the_worker_sends_a_count_alone) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = prompt({1}) + usage(1, 1)}));
  chat.end();
  ASSERT_TRUE(chat.next(Mode::ids_sglang));
  chat.machine.begin_leg(Mode::ids_sglang);
  Received const received = chat.receive(chunk(
      {.id = "b", .text = "this is a secret prompt of somebody: Hello", .extra = usage(2, 1)}));
  EXPECT_EQ(received.reason, "leaks_prompt");
  EXPECT_EQ(chat.client().text, "Hel");
}

TEST(Continuation, A_long_token_is_no_leaked_prompt) {
  std::string delivered = "Here is a table with two columns";
  auto const reason_of = [&](std::string const& first) {
    Exchange chat(kChat);
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.text = delivered, .ids = {10}, .extra = prompt({1})}));
    chat.end();
    EXPECT_TRUE(chat.next(Mode::ids_vllm));
    chat.machine.begin_leg(Mode::ids_vllm);
    return chat.receive(chunk({.id = "b", .text = first, .ids = {11}, .extra = prompt({1, 10})}))
        .reason;
  };
  EXPECT_EQ(reason_of(std::string(33, ' ')), "");
  EXPECT_EQ(reason_of(std::string(128, '-')), "");
  EXPECT_EQ(reason_of("a secret " + delivered + "!"), "leaks_prompt");
  EXPECT_EQ(reason_of(std::string(257, '-')), "leaks_prompt");  // no tokenizer has such a token
  delivered = "Here is a table";                                // too little to be recognized
  EXPECT_EQ(reason_of(std::string(33, '-')), "leaks_prompt");
}

TEST(Continuation, Held_text_goes_out_before_an_event_that_is_passed_on_as_it_comes) {
  std::string const several_lines = "data: odd\ndata: lines\n\n";
  std::string const too_large = "data: " + std::string(EventReader::kMaxEvent, 'x') + "\n\n";
  std::string const error = event(R"({"error":{"message":"no","code":400}})");
  for (std::string const& odd : {several_lines, too_large, error}) {
    Exchange one(R"({"prompt":"once","stream":true,"max_tokens":20,"stop":["END"]})",
                 "completions");
    one.machine.begin_leg(Mode::text);
    one.receive(chunk({.is_chat = false, .text = "to the EN"}));
    for (std::size_t at = 0; at < odd.size(); at += 65'536) {
      one.receive(std::string_view(odd).substr(at, 65'536));
    }
    std::size_t const text = one.out.find("EN\"");
    std::size_t const behind = one.out.find(odd.substr(0, 20));
    ASSERT_NE(text, one.out.npos) << odd.substr(0, 20);
    ASSERT_NE(behind, one.out.npos) << odd.substr(0, 20);
    EXPECT_LT(text, behind) << odd.substr(0, 20);
  }
}

TEST(Continuation, A_leg_that_dies_within_a_comment_leaves_no_line_behind_that_hides_the_next) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.role = true, .extra = prompt({1, 2, 3}) + usage(3, 0)}));
  chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = usage(3, 1)}));
  std::string const comment = ": " + std::string(EventReader::kMaxEvent, 'x');
  for (std::size_t at = 0; at < comment.size(); at += 65'536) {
    chat.receive(std::string_view(comment).substr(at, 65'536));
  }
  EXPECT_FALSE(chat.machine.known().is_inside_event);
  EXPECT_EQ(chat.end().progress, Progress::failed);
  ASSERT_TRUE(chat.next(Mode::ids_vllm));
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.id = "b", .role = true, .extra = prompt({1, 2, 3, 10})}));
  chat.receive(chunk({.id = "b", .text = "lo", .ids = {11}}));
  EXPECT_EQ(chat.client().text, "Hello");
}

TEST(Continuation, Within_an_event_that_is_passed_on_in_parts_it_is_known_that_no_error_fits) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  std::string const large = "data: " + std::string(EventReader::kMaxEvent, 'x');
  chat.receive(large.substr(0, 100));
  EXPECT_FALSE(chat.machine.known().is_inside_event);
  chat.receive(large.substr(100));
  EXPECT_TRUE(chat.machine.known().is_inside_event);
  chat.receive("\n\n");
  EXPECT_FALSE(chat.machine.known().is_inside_event);
}

TEST(Continuation, The_status_of_an_error_that_ends_an_answer_is_that_of_its_code) {
  auto const status_of = [](std::string const& error) {
    Exchange chat(kChat);
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.text = "Hel", .ids = {10}}));
    Received const received = chat.receive(event(R"({"error":)" + error + "}"));
    EXPECT_EQ(received.progress, Progress::done) << error;
    return received.error_status;
  };
  EXPECT_EQ(status_of(R"({"message":"no","code":404})"), 404);
  EXPECT_EQ(status_of(R"({"message":"no","code":"context_length_exceeded"})"), 400);
  EXPECT_EQ(status_of(R"({"message":"no","type":"invalid_request_error"})"), 400);
  EXPECT_EQ(status_of(R"({"type":"timeout","code":504,"retryable":false})"), 504);
}

TEST(Continuation, An_error_that_may_be_repeated_keeps_that_whatever_its_type) {
  for (std::string const type : {"migrated", "engine_dead", "overloaded", "of_tomorrow"}) {
    Exchange chat(kChat);
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.text = "Hel", .ids = {10}}));
    Received const received =
        chat.receive(event(R"({"error":{"retryable":true,"type":")" + type + R"("}})"));
    EXPECT_EQ(received.progress, Progress::failed);
    bool const is_known = type == "migrated" || type == "engine_dead";
    EXPECT_EQ(received.reason, is_known ? type : "retryable");
  }
}

TEST(Continuation, A_record_may_be_dropped_before_its_answer_begins_and_between_legs_only_then) {
  TokenIds const ids(100, 7);
  Exchange one(R"({"prompt":)" + list(ids) + R"(,"stream":true,"max_tokens":20})", "completions");
  one.machine.first_body(Mode::ids_vllm);
  EXPECT_GE(one.machine.held(), ids.size() * sizeof(TokenId));
  EXPECT_TRUE(one.machine.forget());
  EXPECT_LT(one.machine.held(), ids.size());
  one.machine.begin_leg(Mode::ids_vllm);
  one.receive(chunk({.is_chat = false, .text = "ab", .ids = {10}, .inner = prompt(ids)}));
  one.end();
  EXPECT_FALSE(one.machine.forget());
  EXPECT_TRUE(one.next(Mode::ids_vllm));
}

TEST(Continuation, A_stop_string_is_asked_for_and_trimmed_also_over_the_seam) {
  Exchange one(R"({"prompt":"once","stream":true,"max_tokens":20,"stop":["END"]})", "completions");
  EXPECT_NE(one.machine.first_body(Mode::ids_vllm).find(R"("include_stop_str_in_output":true)"),
            std::string::npos);
  one.machine.begin_leg(Mode::ids_vllm);
  one.receive(chunk({.is_chat = false, .text = "ab", .ids = {10}, .inner = prompt({1})}));
  one.receive(chunk({.is_chat = false, .text = "EN", .ids = {11}}));
  EXPECT_EQ(one.client().text, "ab");
  one.end();
  ASSERT_TRUE(one.next(Mode::ids_vllm));
  one.machine.begin_leg(Mode::ids_vllm);
  EXPECT_EQ(
      one.receive(
             chunk({.is_chat = false, .text = "Dx", .ids = {12}, .inner = prompt({1, 10, 11})}))
          .progress,
      Progress::done);
  EXPECT_EQ(one.client().text, "ab");
  EXPECT_EQ(one.client().finishes, 1);
  EXPECT_EQ(one.client().dones, 1);
}

TEST(Continuation, A_leg_that_sent_nothing_is_repeated_whole_whatever_the_request) {
  Exchange chat(R"({"messages":[{"role":"user","content":"hi"}],"stream":true,)"
                R"("response_format":{"type":"json_object"}})");
  chat.machine.begin_leg(Mode::text);
  chat.receive(chunk({.role = true}));
  EXPECT_EQ(chat.end().progress, Progress::failed);
  auto const next = chat.next(Mode::text);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->body, chat.body);
  chat.machine.begin_leg(Mode::text);
  chat.receive(chunk({.id = "b", .role = true}));
  chat.receive(chunk({.id = "b", .text = "{"}));
  EXPECT_EQ(chat.client().roles, 1);
  EXPECT_EQ(chat.client().ids, (std::vector<std::string>{"a", "a"}));
  chat.end();
  EXPECT_EQ(chat.machine.refused(), "guided_output");
  EXPECT_FALSE(chat.next(Mode::ids_vllm));
}

TEST(Continuation, A_stream_that_is_not_continued_is_relayed_byte_for_byte) {
  Exchange several(R"({"prompt":"once","stream":true,"n":2})", "completions");
  std::string const second =
      event(R"({"id":"a","choices":[{"index":1,"text":"x","finish_reason":"stop"}]})");
  std::string const stream = ": ping\n\n" + chunk({.is_chat = false, .text = "a"}) +
                             chunk({.is_chat = false, .finish = "stop"}) + second + kDone;
  several.machine.begin_leg(Mode::ids_vllm);
  EXPECT_EQ(several.receive(stream).progress, Progress::done);
  EXPECT_EQ(several.out, stream);
}

std::string choice(int index, std::string const& delta, std::string const& finish = "null") {
  return event(R"({"id":"a","object":"x","created":7,"model":"m","choices":[{"index":)" +
               std::to_string(index) + ",\"delta\":" + delta + ",\"finish_reason\":" + finish +
               "}]}");
}

TEST(Continuation, One_choice_that_has_ended_does_not_end_the_others) {
  for (std::string const several :
       {R"("messages":[{"role":"user","content":"hi"}],"n":2)",
        R"("presence_penalty":1,"n":2,"messages":[{"role":"user","content":"hi"}])",
        R"("n":2,"n":2,"messages":[{"role":"user","content":"hi"}])"}) {
    Exchange chat("{\"stream\":true," + several + "}");
    chat.machine.begin_leg(Mode::text);
    chat.receive(choice(0, R"({"content":"a"})") + choice(0, "{}", R"("stop")"));
    EXPECT_EQ(chat.end().progress, Progress::failed) << several;
    EXPECT_EQ(chat.client().dones, 0) << several;
    EXPECT_FALSE(chat.next(Mode::text)) << several;
  }
  Exchange two(R"({"prompt":"once","stream":true,"n":2})", "completions");
  two.machine.begin_leg(Mode::text);
  two.receive(event(R"({"id":"a","choices":[{"index":1,"text":"x"}]})"));
  EXPECT_EQ(two.machine.refused(), "several_choices");
  Exchange prompts(R"({"stream":true,"prompt":["a","b"],"max_tokens":3})", "completions");
  prompts.machine.begin_leg(Mode::text);
  prompts.receive(chunk({.is_chat = false, .text = "x", .finish = "stop"}));
  EXPECT_EQ(prompts.end().progress, Progress::failed);
}

TEST(Continuation, Several_choices_of_which_all_have_ended_need_no_other_worker) {
  Exchange chat(R"({"stream":true,"messages":[{"role":"user","content":"hi"}],"n":2})");
  chat.machine.begin_leg(Mode::text);
  chat.receive(choice(0, R"({"content":"a"})") + choice(0, "{}", R"("stop")"));
  chat.receive(choice(1, R"({"content":"b"})") + choice(1, "{}", R"("stop")"));
  EXPECT_EQ(chat.end().progress, Progress::done);
  EXPECT_EQ(chat.client().dones, 1);
}

TEST(Continuation, Several_choices_that_begin_again_have_a_role_and_an_end_each) {
  Exchange chat(R"({"stream":true,"messages":[{"role":"user","content":"hi"}],"n":2})");
  chat.machine.begin_leg(Mode::text);
  std::string const role = R"({"role":"assistant","content":""})";
  chat.receive(choice(0, role));
  EXPECT_EQ(chat.end().progress, Progress::failed);
  ASSERT_TRUE(chat.next(Mode::text));
  chat.machine.begin_leg(Mode::text);
  chat.receive(choice(0, role) + choice(1, role) + choice(0, R"({"content":"a"})", R"("stop")"));
  chat.receive(choice(1, R"({"content":"b"})") + choice(1, R"({"content":"c"})", R"("stop")"));
  EXPECT_EQ(chat.receive(kDone).progress, Progress::done);
  Client const client = chat.client();
  EXPECT_EQ(client.text, "abc");
  EXPECT_EQ(client.roles, 2);
  EXPECT_EQ(client.finishes, 2);
}

TEST(Continuation, A_stop_string_before_min_tokens_ends_nothing) {
  for (Mode const mode : {Mode::text, Mode::ids_vllm}) {
    Exchange one(R"({"prompt":"once","stream":true,"stop":["END"],"min_tokens":9})", "completions");
    EXPECT_EQ(one.machine.first_body(mode), one.body);
    one.machine.begin_leg(mode);
    one.receive(chunk({.is_chat = false, .text = "a END b"}) + chunk({.is_chat = false}));
    one.receive(chunk({.is_chat = false, .text = " c ", .finish = "stop"}) + kDone);
    EXPECT_EQ(one.client().text, "a END b c ");
    EXPECT_EQ(one.machine.refused(), "stop_after_minimum");
  }
}

TEST(Continuation, Tokens_that_are_held_for_a_stop_string_need_not_be_in_the_next_prompt) {
  Exchange one(R"({"prompt":"once","stream":true,"max_tokens":20,"stop":["Observation"]})",
               "completions");
  one.machine.begin_leg(Mode::text);
  one.receive(chunk({.is_chat = false, .text = "a", .extra = usage(5, 7)}));  // six are held
  one.end();
  ASSERT_TRUE(one.next(Mode::text));
  one.machine.begin_leg(Mode::text);
  EXPECT_EQ(one.receive(chunk({.is_chat = false, .text = " b", .extra = usage(6, 1)})).progress,
            Progress::verified_now);
  Exchange other(one.body, "completions");  // a worker that starts over is recognized all the same
  other.machine.begin_leg(Mode::text);
  other.receive(chunk({.is_chat = false, .text = "a", .extra = usage(5, 7)}));
  other.end();
  ASSERT_TRUE(other.next(Mode::text));
  other.machine.begin_leg(Mode::text);
  EXPECT_EQ(other.receive(chunk({.is_chat = false, .text = "a", .extra = usage(5, 1)})).progress,
            Progress::failed);
}

TEST(Continuation, A_stop_string_that_SGLang_is_told_to_keep_is_not_trimmed) {
  Exchange one(R"({"prompt":"once","stream":true,"stop":["END"],"no_stop_trim":true})",
               "completions");
  one.machine.begin_leg(Mode::text);
  one.receive(chunk({.is_chat = false, .text = "a END", .finish = "stop"}) + kDone);
  EXPECT_EQ(one.client().text, "a END");
  EXPECT_EQ(one.machine.first_body(Mode::ids_vllm).find("return_token_ids"), std::string::npos);
}

TEST(Continuation, Both_words_for_reasoning_have_the_same_text_where_text_is_held) {
  Exchange chat(R"({"messages":[{"role":"user","content":"hi"}],"stream":true,"stop":["END"]})");
  chat.machine.begin_leg(Mode::ids_vllm);
  auto const reasons = [&](std::string const& text) {
    return choice(0, R"({"reasoning":")" + text + R"(","reasoning_content":")" + text + "\"}");
  };
  chat.receive(reasons("so E") + reasons("very N") + reasons("one END"));
  EXPECT_EQ(chat.out.find("END"), std::string::npos) << chat.out;
}

TEST(Continuation, A_limit_that_is_no_whole_number_is_not_taken_for_none) {
  Exchange one(R"({"prompt":"once","stream":true,"max_tokens":30.0})", "completions");
  one.machine.begin_leg(Mode::text);
  for (int number = 1; number <= 20; ++number) {
    one.receive(chunk({.is_chat = false, .text = "a", .extra = usage(1, number)}));
  }
  EXPECT_EQ(one.end().progress, Progress::failed);
  EXPECT_FALSE(one.next(Mode::text));
  EXPECT_EQ(one.client().finishes, 0);
}

TEST(Continuation, Ids_that_a_new_leg_sends_before_its_first_text_are_kept) {
  Exchange chat(kChat);
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = prompt({1})}));
  chat.end();
  ASSERT_TRUE(chat.next(Mode::ids_vllm));
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.ids = {226}, .extra = prompt({1, 10})}) + chunk({.ids = {130}}));
  chat.receive(chunk({.text = "\xE2\x82\xAD", .ids = {173}}));
  chat.end();
  auto const next = chat.next(Mode::ids_vllm);
  ASSERT_TRUE(next);
  EXPECT_NE(next->body.find("[1,10,226,130,173]"), std::string::npos) << next->body;
}

TEST(Continuation, A_client_that_wants_ids_gets_those_sent_before_a_new_legs_first_text) {
  Exchange chat(R"({"messages":[{"role":"user","content":"hi"}],"stream":true,)"
                R"("return_token_ids":true})");
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.text = "Hel", .ids = {10}, .extra = prompt({1})}));
  chat.end();
  ASSERT_TRUE(chat.next(Mode::ids_vllm));
  chat.machine.begin_leg(Mode::ids_vllm);
  chat.receive(chunk({.ids = {226}, .extra = prompt({1, 10})}) + chunk({.ids = {130}}));
  chat.out.clear();
  chat.receive(chunk({.text = "\xE2\x82\xAD", .ids = {173}}) + chunk({.text = "!", .ids = {11}}));
  EXPECT_NE(chat.out.find(R"("token_ids":[226,130,173])"), std::string::npos) << chat.out;
  EXPECT_NE(chat.out.find(R"("token_ids":[11])"), std::string::npos) << chat.out;
}

TEST(Continuation, A_client_that_has_ids_gets_no_answer_from_the_start_though_its_text_is_held) {
  Exchange one(R"({"prompt":"once","stream":true,"stop":["END"],"return_token_ids":true})",
               "completions");
  one.machine.begin_leg(Mode::ids_vllm);
  one.receive(chunk({.is_chat = false, .text = "E", .ids = {10}, .inner = prompt({1})}));
  EXPECT_EQ(one.client().text, "");
  one.end();
  EXPECT_FALSE(one.next(Mode::text));
  EXPECT_EQ(one.next(Mode::ids_vllm)->way, Way::by_ids);
}

TEST(Continuation, A_client_that_has_ids_gets_no_answer_from_the_start_though_the_record_is_gone) {
  for (bool const wants_ids : {true, false}) {
    std::string const ids = wants_ids ? R"(,"return_token_ids":true)" : "";
    Exchange chat(R"({"messages":[{"role":"user","content":"hi"}],"stream":true)" + ids + "}");
    chat.machine.begin_leg(Mode::ids_vllm);
    chat.receive(chunk({.ids = {226}, .extra = prompt({1})}));  // a part of a character
    EXPECT_TRUE(chat.machine.forget());
    chat.end();
    EXPECT_EQ(chat.next(Mode::ids_vllm).has_value(), !wants_ids);
  }
}

TEST(Continuation, Any_split_of_the_bytes_gives_the_client_the_same) {
  std::string const first = ": ping\r\n\r\n" +
                            chunk({.role = true, .extra = prompt({1, 2}) + usage(2, 0)}) +
                            chunk({.text = "Hel ", .ids = {10}, .extra = usage(2, 1)}) +
                            chunk({.text = "lo\xC3\xA9", .ids = {11}, .extra = usage(2, 2)}) +
                            chunk({.finish = "abort"}) + kDone;
  std::string const second = chunk({.id = "b", .role = true, .extra = prompt({1, 2, 10, 11})}) +
                             chunk({.id = "b", .text = "!", .ids = {12}}) +
                             chunk({.id = "b", .finish = "stop"}) + kDone;
  std::string whole;
  for (std::size_t at = 0; at <= std::max(first.size(), second.size()); ++at) {
    Exchange chat(kChat);
    for (std::string const& leg : {first, second}) {
      chat.machine.begin_leg(Mode::ids_vllm);
      std::string_view const bytes = leg;
      chat.receive(bytes.substr(0, at));
      chat.receive(bytes.substr(std::min(at, bytes.size())));
      if (&leg != &second) {
        static_cast<void>(chat.next(Mode::ids_vllm));
      }
    }
    whole = whole.empty() ? chat.out : whole;
    ASSERT_EQ(chat.out, whole) << at;
  }
  EXPECT_EQ(client_of(whole).text, "Hel lo\xC3\xA9!");
}

}  // namespace
}  // namespace lastcall::router::continuation
