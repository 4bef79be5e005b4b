// The checks against real sockets on one loop, as in the supervisor.
#include "probes/checks/check.hpp"

#include <optional>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <pthread.h>

#include "tests/unit/probes/fake_engine.hpp"
#include "tests/unit/probes/http_client.hpp"

namespace lastcall::probes::test {
namespace {

using namespace std::chrono_literals;

class Checks : public ::testing::Test {
 protected:
  std::unique_ptr<Check> http(std::string url) {
    auto made = make_http_check(io_.get_executor(), {.url = std::move(url)});
    EXPECT_TRUE(std::holds_alternative<std::unique_ptr<Check>>(made))
        << std::get<std::string>(made);
    return std::get<std::unique_ptr<Check>>(std::move(made));
  }
  std::string url_of(FakeEngine const& engine, std::string const& path = "/health") {
    return "http://127.0.0.1:" + std::to_string(engine.port()) + path;
  }
  CheckOutcome run(Check& check, Duration timeout = 20s) {
    std::optional<CheckOutcome> outcome;
    check.start(timeout, [&](CheckOutcome found) { outcome = std::move(found); });
    EXPECT_FALSE(outcome) << "reported from inside start()";
    run_until([&] { return outcome.has_value(); });
    return outcome.value_or(CheckOutcome{.detail = "no report"});
  }
  template <typename Condition>
  bool run_until(Condition condition) {
    auto const give_up = std::chrono::steady_clock::now() + 30s;
    io_.restart();
    while (!condition() && std::chrono::steady_clock::now() < give_up) {
      io_.run_one_for(100ms);
      io_.restart();
    }
    return condition();
  }
  CheckOutcome check_answer(std::string response, FakeEngine::Then then = FakeEngine::Then::close) {
    FakeEngine engine(io_);
    engine.answer(std::move(response), then);
    return run(*http(url_of(engine)));
  }

  boost::asio::io_context io_;
};

TEST_F(Checks, Success_and_redirect_statuses_pass) {
  for (int const status : {200, 204, 302}) {
    auto const outcome = check_answer(http_response(status));
    EXPECT_EQ(outcome.result, CheckResult::passed) << status << outcome.detail;
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(outcome.detail, "");
  }
}

TEST_F(Checks, Dead_statuses_are_definite_failures_and_quote_the_body) {
  auto const outcome =
      check_answer(http_response(503, "engine core\r\ndied " + std::string(9999, 'x')));
  EXPECT_EQ(outcome.result, CheckResult::failed_definite);
  EXPECT_EQ(outcome.status, 503);
  EXPECT_TRUE(outcome.detail.starts_with("status 503: engine core  died xxx")) << outcome.detail;
  EXPECT_LT(outcome.detail.size(), 600U);
  EXPECT_EQ(check_answer(http_response(500)).result, CheckResult::failed_definite);
}

TEST_F(Checks, Other_statuses_prove_neither) {
  for (int const status : {404, 401, 429, 502}) {
    auto const outcome = check_answer(http_response(status));
    EXPECT_EQ(outcome.result, CheckResult::failed_unclear) << status;
    EXPECT_EQ(outcome.status, status);
  }
}

TEST_F(Checks, The_set_of_dead_statuses_is_the_users) {
  FakeEngine engine(io_);
  auto const check = std::get<std::unique_ptr<Check>>(
      make_http_check(io_.get_executor(), {.url = url_of(engine), .dead_statuses = {404}}));
  engine.answer(http_response(404));
  EXPECT_EQ(run(*check).result, CheckResult::failed_definite);
  engine.answer(http_response(503));
  EXPECT_EQ(run(*check).result, CheckResult::failed_unclear);
}

TEST_F(Checks, A_refused_connection_is_a_definite_failure) {
  auto const port = std::to_string(free_port());
  auto const outcome = run(*http("http://127.0.0.1:" + port + "/health"));
  EXPECT_EQ(outcome.result, CheckResult::failed_definite);
  EXPECT_EQ(outcome.detail, "connection refused by 127.0.0.1:" + port);
}

TEST_F(Checks, An_engine_that_accepts_and_never_answers_times_out) {
  FakeEngine engine(io_);
  engine.never_answer();
  auto const outcome = run(*http(url_of(engine)), 100ms);
  EXPECT_EQ(outcome.result, CheckResult::timed_out);
  EXPECT_GE(outcome.latency, 100ms);
  EXPECT_TRUE(run_until([&] { return engine.open_now() == 0; })) << "the connection stays open";
}

TEST_F(Checks, The_deadline_covers_the_body_too) {
  auto const outcome = [&] {
    FakeEngine engine(io_);
    engine.answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
                  FakeEngine::Then::keep_open);
    return run(*http(url_of(engine)), 100ms);
  }();
  EXPECT_EQ(outcome.result, CheckResult::timed_out);
}

TEST_F(Checks, An_answer_that_is_cut_short_proves_neither) {
  EXPECT_EQ(check_answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").result,
            CheckResult::failed_unclear);
  EXPECT_EQ(check_answer("HTTP/1.1 200 OK\r\nConte", FakeEngine::Then::reset).result,
            CheckResult::failed_unclear);
  EXPECT_EQ(check_answer("").result, CheckResult::failed_unclear);
}

TEST_F(Checks, An_answer_that_is_not_http_proves_neither) {
  EXPECT_EQ(check_answer("SSH-2.0-OpenSSH_9.2\r\n").result, CheckResult::failed_unclear);
}

TEST_F(Checks, Chunked_and_unframed_bodies_are_understood) {
  EXPECT_EQ(
      check_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
                   FakeEngine::Then::keep_open)
          .result,
      CheckResult::passed);
  EXPECT_EQ(check_answer("HTTP/1.0 200 OK\r\n\r\nuntil the end").result, CheckResult::passed);
}

TEST_F(Checks, An_endless_body_is_no_fault_of_the_engines_health) {
  EXPECT_EQ(check_answer(http_response(200, std::string(1'000'000, 'b'))).result,
            CheckResult::passed);
}

TEST_F(Checks, The_request_names_host_path_and_closes) {
  FakeEngine engine(io_);
  engine.answer(http_response(200));
  run(*http(url_of(engine, "/v1/health?full=1")));
  auto const& request = engine.last_request();
  EXPECT_TRUE(request.starts_with("GET /v1/health?full=1 HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("Host: 127.0.0.1:" + std::to_string(engine.port())), std::string::npos);
  EXPECT_NE(request.find("Connection: close"), std::string::npos);
}

TEST_F(Checks, Each_run_uses_a_connection_of_its_own_and_closes_it) {
  FakeEngine engine(io_);
  engine.answer(http_response(200), FakeEngine::Then::keep_open);
  auto const check = http(url_of(engine));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run(*check).result, CheckResult::passed);
  }
  EXPECT_EQ(engine.connections(), 3U);
  EXPECT_TRUE(run_until([&] { return engine.open_now() == 0; }));
}

TEST_F(Checks, Localhost_means_either_loopback) {
  FakeEngine v4(io_);
  v4.answer(http_response(200));
  EXPECT_EQ(run(*http("http://localhost:" + std::to_string(v4.port()))).result,
            CheckResult::passed);
  try {
    FakeEngine v6(io_, true);
    v6.answer(http_response(200));
    EXPECT_EQ(run(*http("http://localhost:" + std::to_string(v6.port()))).result,
              CheckResult::passed);
    EXPECT_EQ(run(*http("http://[::1]:" + std::to_string(v6.port()) + "/health")).result,
              CheckResult::passed);
  } catch (boost::system::system_error const&) {
    GTEST_SKIP() << "this machine has no IPv6 loopback";
  }
}

TEST_F(Checks, A_name_that_does_not_resolve_is_not_a_dead_engine) {
  auto const outcome = run(*http("http://no-such-host.invalid:8000/"));
  EXPECT_NE(outcome.result, CheckResult::failed_definite);
  EXPECT_NE(outcome.result, CheckResult::passed);
  EXPECT_NE(outcome.detail.find("no-such-host.invalid"), std::string::npos);
}

/// Threads get a stack that no machine has room for, as if the container's limit of processes were
/// reached.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 46);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoMoreThreads(NoMoreThreads const&) = delete;
  NoMoreThreads& operator=(NoMoreThreads const&) = delete;

 private:
  pthread_attr_t before_{};
};

TEST_F(Checks, An_engine_that_no_thread_can_look_up_was_not_asked_and_is_asked_again) {
  auto const check = http("http://no-such-host.invalid:8000/");
  {
    NoMoreThreads const until_here;
    auto const outcome = run(*check);
    EXPECT_EQ(outcome.result, CheckResult::not_asked);
    EXPECT_NE(outcome.detail.find("cannot look up no-such-host.invalid: "), std::string::npos);
  }
  EXPECT_EQ(run(*check).result, CheckResult::failed_unclear);
}

TEST_F(Checks, A_cancelled_check_reports_nothing_more) {
  FakeEngine engine(io_);
  engine.never_answer();
  auto const check = http(url_of(engine));
  bool reported = false;
  check->start(50ms, [&](CheckOutcome const&) { reported = true; });
  run_until([&] { return engine.connections() == 1; });
  check->cancel();
  EXPECT_TRUE(run_until([&] { return engine.open_now() == 0; }));
  io_.restart();
  io_.run_for(100ms);
  EXPECT_FALSE(reported);
}

TEST_F(Checks, A_check_may_be_destroyed_in_its_own_report) {
  FakeEngine engine(io_);
  engine.answer(http_response(200));
  auto check = http(url_of(engine));
  bool reported = false;
  check->start(20s, [&](CheckOutcome const&) {
    check.reset();
    reported = true;
  });
  EXPECT_TRUE(run_until([&] { return reported; }));
}

TEST_F(Checks, Urls_that_cannot_be_checked_are_refused_with_a_reason) {
  for (auto const* const url :
       {"", "127.0.0.1:8000/health", "https://127.0.0.1/", "http://", "http://:80/",
        "http://host:/x", "http://host:0/", "http://host:70000/", "http://host:8x/", "http://[::1/",
        "http://[::1]8000/", "http://a b/", "http://user@host/", "http://host/a b",
        "http://host/a\r\nX: y"}) {
    auto const made = make_http_check(io_.get_executor(), {.url = url});
    ASSERT_TRUE(std::holds_alternative<std::string>(made)) << url;
    EXPECT_NE(std::get<std::string>(made).find("expected http://"), std::string::npos) << url;
  }
}

TEST_F(Checks, Tcp_passes_when_accepted_and_fails_when_refused) {
  FakeEngine engine(io_);
  auto const check = make_tcp_check(io_.get_executor(), {"127.0.0.1", engine.port()});
  EXPECT_EQ(run(*check).result, CheckResult::passed);
  engine.die();
  auto const outcome = run(*check);
  EXPECT_EQ(outcome.result, CheckResult::failed_definite);
  EXPECT_NE(outcome.detail.find("connection refused"), std::string::npos);
}

TEST_F(Checks, An_asked_check_reports_the_answer) {
  bool asked = false;
  AskedCheck check(io_.get_executor(), [&] {
    asked = true;
    return std::string{};
  });
  std::optional<CheckOutcome> outcome;
  check.start(20s, [&](CheckOutcome found) { outcome = std::move(found); });
  EXPECT_TRUE(asked);
  check.answered({.result = CheckResult::failed_definite, .detail = "dead"});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->detail, "dead");
  check.answered({.result = CheckResult::passed});  // it was not asked
  EXPECT_EQ(outcome->detail, "dead");
}

TEST_F(Checks, An_asked_check_without_an_answer_times_out) {
  AskedCheck check(io_.get_executor(), [] { return std::string{}; });
  EXPECT_EQ(run(check, 50ms).result, CheckResult::timed_out);
}

TEST_F(Checks, An_asked_check_that_cannot_ask_reports_that) {
  AskedCheck check(io_.get_executor(), [] { return std::string("no SDK is connected"); });
  auto const outcome = run(check);
  EXPECT_EQ(outcome.result, CheckResult::failed_unclear);
  EXPECT_EQ(outcome.detail, "no SDK is connected");
}

}  // namespace
}  // namespace lastcall::probes::test
