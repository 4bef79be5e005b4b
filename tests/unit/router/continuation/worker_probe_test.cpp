#include "router/continuation/worker_probe.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/router/continuation/chunks.hpp"

namespace lastcall::router::continuation {
namespace {

/// How a kind of worker answers to one question.
struct Worker {
  bool reports_usage = true;
  bool goes_on = true;
  bool refuses_ids = false;  // 400 to return_token_ids
  bool takes_vllm = true;
  bool takes_sglang = false;

  unsigned status_of(std::string const& body) const {
    return refuses_ids && body.find("return_token_ids") != body.npos ? 400 : 200;
  }
  std::string answer(std::string const& body) const {
    bool const is_grown = goes_on && body.find("six") != body.npos;
    bool const wants_ids = body.find("return_token_ids") != body.npos;
    bool const vllm = body.find("[5,6,7]") != body.npos && body.find("input_ids") == body.npos;
    bool const sglang = body.find("\"input_ids\":[5,6,7]") != body.npos;
    bool const is_taken = (vllm && takes_vllm) || (sglang && takes_sglang);
    TokenIds const reported = is_taken ? TokenIds{5, 6, 7} : TokenIds{5, 6};
    int const count = is_grown ? 8 : static_cast<int>(reported.size());
    return chunk({.text = "x",
                  .ids = wants_ids ? TokenIds{7} : TokenIds{},
                  .extra = (reports_usage ? usage(count, 1) : "") +
                           (wants_ids ? prompt(reported) : std::string())}) +
           kDone;
  }
};

Mode probe(Worker const& worker, Endpoint endpoint = Endpoint::chat, TokenIds known = {}) {
  WorkerProbe probe(endpoint, "m", std::move(known));
  int questions = 0;
  while (auto const body = probe.next()) {
    EXPECT_TRUE(json::is_value(*body)) << *body;
    EXPECT_LT(++questions, 6);
    probe.answered(worker.status_of(*body), worker.answer(*body));
  }
  return probe.mode();
}

TEST(WorkerProbe, A_worker_is_known_by_what_it_proves) {
  EXPECT_EQ(probe({}), Mode::ids_vllm);
  EXPECT_EQ(probe({}, Endpoint::completions), Mode::ids_vllm);
  EXPECT_EQ(probe({.takes_vllm = false}), Mode::text);
  EXPECT_EQ(probe({.takes_vllm = false, .takes_sglang = true}), Mode::ids_sglang);
  EXPECT_EQ(probe({.refuses_ids = true}), Mode::text);
  EXPECT_EQ(probe({.goes_on = false}), Mode::none);
  EXPECT_EQ(probe({.reports_usage = false}), Mode::none);
}

TEST(WorkerProbe, A_worker_that_counts_only_at_the_end_cannot_prove_a_continuation) {
  std::string const last = R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}])";
  for (auto const endpoint : {Endpoint::chat, Endpoint::completions}) {
    WorkerProbe probe(endpoint, "m");
    probe.answered(200, chunk({.text = "x"}) + last + usage(2, 1) + "}\n\n");
    EXPECT_FALSE(probe.has_failed() || probe.next());
    EXPECT_EQ(probe.mode(), Mode::none);
  }
  WorkerProbe probe(Endpoint::completions, "m");  // its first token ended the answer
  probe.answered(200, last + usage(2, 0) + "}\n\n");
  EXPECT_EQ(probe.mode(), Mode::text);
}

TEST(WorkerProbe, A_worker_that_does_not_answer_is_asked_no_further) {
  for (unsigned const status : {0U, 401U, 429U, 500U, 503U}) {
    WorkerProbe probe(Endpoint::chat, "m\"");
    ASSERT_TRUE(probe.next());
    EXPECT_NE(probe.next()->find(R"("model":"m\"")"), std::string::npos);
    probe.answered(status, "");
    EXPECT_FALSE(probe.next());
    EXPECT_TRUE(probe.has_failed());
    EXPECT_EQ(probe.mode(), Mode::none);
  }
}

TEST(WorkerProbe, A_worker_without_the_endpoint_has_answered) {
  WorkerProbe probe(Endpoint::chat, "m");
  probe.answered(404, "");
  EXPECT_FALSE(probe.has_failed() || probe.next());
  EXPECT_EQ(probe.mode(), Mode::none);
}

TEST(WorkerProbe, A_500_at_a_field_that_was_added_takes_nothing_away) {
  WorkerProbe probe(Endpoint::completions, "m");
  probe.answered(200, chunk({.text = "x", .extra = usage(2, 1)}) + kDone);
  ASSERT_TRUE(probe.next());
  probe.answered(500, "");
  EXPECT_FALSE(probe.has_failed() || probe.next());
  EXPECT_EQ(probe.mode(), Mode::text);
}

TEST(WorkerProbe, A_chat_that_sends_no_ids_is_asked_with_those_of_completions) {
  Worker const sglang{.refuses_ids = true, .takes_vllm = false, .takes_sglang = true};
  EXPECT_EQ(probe(sglang, Endpoint::chat, {5, 6, 7}), Mode::ids_sglang);
  EXPECT_EQ(probe({.refuses_ids = true, .takes_vllm = false}, Endpoint::chat, {5, 6, 7}),
            Mode::text);
  EXPECT_EQ(mode_of_completions(Mode::ids_vllm, false), Mode::ids_sglang);
  EXPECT_EQ(mode_of_completions(Mode::ids_vllm, true), Mode::ids_vllm);
  EXPECT_EQ(mode_of_completions(Mode::text, false), Mode::text);
}

}  // namespace
}  // namespace lastcall::router::continuation
