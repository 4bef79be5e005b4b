// The reader against real sockets on one loop, as in the supervisor.
#include "probes/checks/gauge_reader.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/unit/probes/fake_engine.hpp"

namespace lastcall::probes::test {
namespace {

using namespace std::chrono_literals;

class Gauges : public ::testing::Test {
 protected:
  GaugeReading read(std::string response, Duration timeout = 20s) {
    engine_.answer(std::move(response));
    return ask(timeout);
  }
  GaugeReading ask(Duration timeout = 20s) {
    GaugeReader reader(io_.get_executor(),
                       {.url = "http://127.0.0.1:" + std::to_string(engine_.port()) + "/metrics",
                        .running = "run",
                        .waiting = "wait",
                        .tokens = "tok",
                        .kv_usage = "use",
                        .rank_label = "engine",
                        .running_is_load = running_is_load_});
    EXPECT_EQ(reader.problem(), "");
    std::optional<GaugeReading> found;
    reader.read(timeout, [&](GaugeReading const& reading) { found = reading; });
    EXPECT_FALSE(found) << "reported from inside read()";
    auto const give_up = std::chrono::steady_clock::now() + 30s;
    while (!found && std::chrono::steady_clock::now() < give_up) {
      io_.restart();
      io_.run_one_for(100ms);
    }
    return found.value_or(GaugeReading{.problem = "no report"});
  }

  boost::asio::io_context io_;
  FakeEngine engine_{io_};
  bool running_is_load_ = false;
};

TEST_F(Gauges, Running_and_waiting_requests_are_in_flight) {
  GaugeReading const reading = read(http_response(200, "run 2\nrun{r=\"1\"} 1\nwait 4\ntok 17\n"));
  EXPECT_EQ(reading.in_flight, 7U);
  EXPECT_EQ(reading.tokens, 17U);
  EXPECT_EQ(reading.problem, "");
}

TEST_F(Gauges, A_gauge_that_counts_from_acceptance_is_the_load_of_its_process) {
  EXPECT_EQ(read(http_response(200, "run 2\nwait 0\n")).load, std::nullopt);
  running_is_load_ = true;
  EXPECT_EQ(read(http_response(200, "run{e=\"a\"} 2\nrun{e=\"b\"} 1\nwait 0\n")).load, 3U);
  EXPECT_EQ(read(http_response(200, "run 0\nwait 0\n")).load, 0U);
  EXPECT_EQ(read(http_response(200, "wait 0\n")).load, std::nullopt);
}

TEST_F(Gauges, Ranks_are_named_by_their_label_each_once) {
  engine_.answer(http_response(200,
                               "run{engine=\"0\",m=\"a\"} 0\nrun{engine=\"0\",m=\"b\"} 0\n"
                               "run{m=\"a, \\\"x\\\"\",engine=\"1\"} 0\nwait{engine=\"2\"} 0\n"));
  EXPECT_EQ(ask().ranks, (std::vector<std::string>{"0", "1"}));
}

TEST_F(Gauges, A_rank_whose_gauges_have_not_been_set_yet_is_known_by_its_tokens) {
  engine_.answer(http_response(
      200,
      "run{engine=\"1\"} 0\nwait{engine=\"1\"} 0\ntok{engine=\"0\"} 0\ntok{engine=\"1\"} 5\n"));
  GaugeReading const reading = ask();
  EXPECT_EQ(reading.ranks, (std::vector<std::string>{"1", "0"}));
  EXPECT_EQ(reading.in_flight, 0U);
}

TEST_F(Gauges, The_use_of_the_cache_is_reported_in_millionths) {
  EXPECT_EQ(read(http_response(200, "run 0\nwait 0\nuse{r=\"0\"} 0.25\nuse 0.0000015\n")).cache,
            250'002U);
}

TEST_F(Gauges, A_text_longer_than_any_buffer_is_read_to_its_end) {
  std::string filler;
  for (int i = 0; i < 20'000; ++i) {
    filler += "filler_bucket{le=\"" + std::to_string(i) + "\"} 1\n";
  }
  EXPECT_EQ(read(http_response(200, filler + "run 1\nwait 0\n" + filler)).in_flight, 1U);
}

TEST_F(Gauges, A_part_of_the_figures_is_no_reading) {
  GaugeReading const reading = read(http_response(200, "run 0\ntok 3\n"));
  EXPECT_EQ(reading.in_flight, std::nullopt);
  EXPECT_EQ(reading.tokens, 3U);
  EXPECT_EQ(reading.problem, "the metrics have no value of wait");
}

TEST_F(Gauges, More_than_nothing_is_never_nothing) {
  EXPECT_EQ(read(http_response(200, "run 0.25\nwait 0\n")).in_flight, 1U);
}

TEST_F(Gauges, Other_answers_and_texts_that_are_cut_off_prove_nothing) {
  EXPECT_EQ(read(http_response(404, "run 0\nwait 0\n")).problem, "status 404");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nrun 0\nwait 0\n").in_flight,
            std::nullopt);
  EXPECT_EQ(read("run 0\nwait 0\n").in_flight, std::nullopt);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nrun 0\n").in_flight,
            std::nullopt);
}

TEST_F(Gauges, An_engine_that_answers_nothing_is_not_waited_for) {
  engine_.never_answer();
  EXPECT_EQ(ask(100ms).problem, "no answer within 100 ms");
  engine_.die();
  EXPECT_NE(ask().problem.find("connection refused"), std::string::npos);
}

TEST(GaugesWithoutPlace, A_url_that_is_none_is_a_problem) {
  boost::asio::io_context io;
  EXPECT_NE(GaugeReader(io.get_executor(), {.url = "ftp://x", .running = "r"}).problem(), "");
}

}  // namespace
}  // namespace lastcall::probes::test
