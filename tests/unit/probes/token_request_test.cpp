// The request for one token against real sockets on one loop, as in the supervisor.
#include "probes/checks/token_request.hpp"

#include <optional>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/unit/probes/fake_engine.hpp"

namespace lastcall::probes::test {
namespace {

using namespace std::chrono_literals;
using Outcome = TokenRequest::Outcome;

constexpr char const* kToken =
    R"({"choices":[{"text":"t0","finish_reason":"length"}],"usage":{"completion_tokens":1}})";

class TokenRequests : public ::testing::Test {
 protected:
  std::string url(std::string const& path) const {
    return "http://127.0.0.1:" + std::to_string(engine_.port()) + path;
  }
  std::vector<AtRest> both() const {
    return {{url("/is_sleeping"), "is_sleeping"}, {url("/is_paused"), "is_paused"}};
  }
  Outcome ask(TokenRequestSettings settings) {
    TokenRequest request(io_.get_executor(), std::move(settings));
    EXPECT_EQ(request.problem(), "");
    std::optional<Outcome> found;
    request.ask([this] { ++sent_; },
                [&](Outcome outcome, std::string const& detail) {
                  found = outcome;
                  detail_ = detail;
                });
    EXPECT_FALSE(found) << "reported from inside ask()";
    run_until([&] { return found.has_value(); });
    return found.value_or(Outcome::refused);
  }
  Outcome ask_completions(std::string response) {
    engine_.answer(std::move(response));
    return ask({.url = url("/v1/completions"), .model = "m"});
  }
  template <typename Condition>
  void run_until(Condition is_met) {
    auto const give_up = std::chrono::steady_clock::now() + 30s;
    while (!is_met() && std::chrono::steady_clock::now() < give_up) {
      io_.restart();
      io_.run_one_for(100ms);
    }
  }

  boost::asio::io_context io_;
  FakeEngine engine_{io_};
  int sent_ = 0;
  std::string detail_;
};

TEST_F(TokenRequests, A_200_with_a_token_is_generated) {
  EXPECT_EQ(ask_completions(http_response(200, kToken)), Outcome::generated);
  EXPECT_EQ(sent_, 1);
  EXPECT_NE(engine_.last_request().find("POST /v1/completions "), std::string::npos);
}

TEST_F(TokenRequests, A_header_of_one_request_is_sent_with_it_alone) {
  engine_.answer(http_response(200, kToken));
  TokenRequest request(io_.get_executor(), {.url = url("/v1/completions"), .model = "m"});
  for (bool const further : {true, false}) {
    bool is_done = false;
    request.ask([] {}, [&](Outcome, std::string const&) { is_done = true; },
                further ? std::optional(TokenRequest::Header{"X-Rank", "7"}) : std::nullopt);
    run_until([&] { return is_done; });
    EXPECT_EQ(engine_.last_request().find("X-Rank: 7\r\n") != std::string::npos, further);
  }
}

TEST_F(TokenRequests, Anything_else_is_refused_with_the_reason) {
  EXPECT_EQ(ask_completions(http_response(503, kToken)), Outcome::refused);
  EXPECT_EQ(detail_, "status 503");
  EXPECT_EQ(ask_completions(http_response(200, "{}")), Outcome::refused);
  EXPECT_EQ(ask_completions("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), Outcome::refused);
  engine_.die();
  EXPECT_EQ(ask({.url = url("/v1/completions"), .model = "m"}), Outcome::refused);
  EXPECT_NE(detail_.find("refused"), std::string::npos);
}

TEST_F(TokenRequests, A_200_without_a_body_is_empty) {
  EXPECT_EQ(ask_completions(http_response(200, "")), Outcome::empty);
  EXPECT_EQ(ask_completions(http_response(500, "")), Outcome::refused);
}

TEST_F(TokenRequests, An_engine_that_sleeps_or_is_paused_is_not_asked) {
  engine_.answer(http_response(200, R"({"is_sleeping":false,"is_paused":true})"));
  EXPECT_EQ(ask({.url = url("/v1/completions"),
                 .models_url = url("/v1/models"),
                 .at_rest = both(),
                 .model = "m"}),
            Outcome::asleep);
  EXPECT_EQ(sent_, 0);
}

TEST_F(TokenRequests, An_engine_that_cannot_report_whether_it_sleeps_is_asked) {
  engine_.answer(http_response(404, "{}"));
  EXPECT_EQ(ask({.url = url("/v1/completions"), .at_rest = both(), .model = "m"}),
            Outcome::refused);
  EXPECT_EQ(sent_, 1);
  EXPECT_EQ(engine_.connections(), 3U);
}

TEST_F(TokenRequests, One_that_is_paused_while_it_owes_the_answer_has_the_request_withdrawn) {
  engine_.hold_posts();
  engine_.answer(http_response(200, R"({"is_sleeping":false,"is_paused":false})"));
  TokenRequest request(io_.get_executor(), {.url = url("/v1/completions"),
                                            .at_rest = both(),
                                            .model = "m",
                                            .look_again = std::chrono::milliseconds{1}});
  std::optional<Outcome> found;
  request.ask(
      [this] {
        ++sent_;
        engine_.answer(http_response(200, R"({"is_sleeping":false,"is_paused":true})"));
      },
      [&](Outcome outcome, std::string const&) { found = outcome; });
  run_until([&] { return found.has_value(); });
  EXPECT_EQ(found, Outcome::asleep);
  EXPECT_EQ(sent_, 1);
  run_until([&] { return engine_.open_now() == 0; });
  EXPECT_EQ(engine_.open_now(), 0U);
}

TEST_F(TokenRequests, Another_one_right_behind_asks_for_the_same_model_and_nothing_else) {
  engine_.answer(http_response(200, kToken));
  TokenRequest request(io_.get_executor(),
                       {.url = url("/v1/completions"), .at_rest = both(), .model = "m"});
  int answers = 0;
  auto const answered = [&](Outcome, std::string const&) { ++answers; };
  request.ask([] {}, answered);
  run_until([&] { return answers == 1; });
  std::size_t const before = engine_.connections();
  request.again([this] { ++sent_; }, answered, {"X-Rank", "1"});
  run_until([&] { return answers == 2; });
  EXPECT_EQ(engine_.connections(), before + 1);
  EXPECT_EQ(sent_, 1);
  EXPECT_NE(engine_.last_request().find("X-Rank: 1\r\n"), std::string::npos);
}

TEST_F(TokenRequests, Without_a_model_the_engine_is_asked_for_its_first) {
  engine_.answer(http_response(200, R"({"data":[]})"));
  EXPECT_EQ(ask({.url = url("/v1/completions"), .models_url = url("/v1/models")}),
            Outcome::refused);
  EXPECT_EQ(sent_, 0);
  EXPECT_EQ(detail_, "the engine lists no model");
}

TEST_F(TokenRequests, A_list_of_models_costs_no_stack_and_no_time_out_of_proportion) {
  std::string const deep(400'000, '[');
  std::string wide = "{\"k\":0";
  for (int i = 0; i < 60'000; ++i) {
    wide += ",\"" + std::to_string(i) + "\":0";
  }
  for (std::string const& list : {"{\"data\":" + deep + std::string(deep.size(), ']') + "}",
                                  wide + R"(,"data":[{"id":"m"}]})"}) {
    engine_.answer(http_response(200, list));
    EXPECT_EQ(ask({.url = url("/v1/completions"), .models_url = url("/v1/models")}),
              Outcome::refused);
    EXPECT_EQ(detail_, "the engine lists no model");
  }
}

TEST_F(TokenRequests, A_cancel_closes_the_connection_and_nothing_is_reported) {
  engine_.never_answer();
  TokenRequest request(io_.get_executor(), {.url = url("/v1/completions"), .model = "m"});
  request.ask([this] { ++sent_; }, [](Outcome, std::string const&) { FAIL(); });
  run_until([this] { return sent_ == 1 && engine_.open_now() == 1; });
  ASSERT_EQ(engine_.open_now(), 1U);
  request.cancel();
  run_until([this] { return engine_.open_now() == 0; });
  EXPECT_EQ(engine_.open_now(), 0U);
}

TEST(TokenAnswer, The_path_decides_which_form_the_request_has) {
  EXPECT_NE(token_request_body("http://e/v1/chat/completions", "m").find("messages"),
            std::string::npos);
  EXPECT_NE(token_request_body("http://e/v1/completions", "m").find("prompt"), std::string::npos);
}

}  // namespace
}  // namespace lastcall::probes::test
