#include "probes/metrics/metrics.hpp"

#include <limits>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/utf8.hpp"
#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes::test {
namespace {

using lifecycle::CancelReason;
using lifecycle::Outcome;
using lifecycle::Phase;
using lifecycle::RejectedReason;
using namespace std::chrono_literals;

MetricIdentity const kIdentity{.dynamo_namespace = "dynamo",
                               .component = "backend",
                               .model = "m",
                               .worker_id = "1a2b",
                               .version = "1.2.3"};

/// Every method once, so that every family has a series.
void use_everything(Metrics& metrics, PublishedState const& state) {
  metrics.requests().began("generate");
  metrics.requests().ended("generate", Outcome::completed);
  metrics.requests().rejected("m", "chat_completions", RejectedReason::overloaded, {.full = true});
  metrics.cancels().client_cancelled("m", "chat_completions", true);
  metrics.cancels().signalled("generate", CancelReason::migrate);
  metrics.cancels().confirmed(CancelReason::migrate, 2ms);
  metrics.cancels().set_unconfirmed(3);
  metrics.cancels().set_overdue(1);
  metrics.supervisor().slow_step("request_begun");
  metrics.lifecycle().set_phase(Phase::serving);
  metrics.lifecycle().phase_ended(Phase::draining, lifecycle::PhaseOutcome::completed, 4s);
  metrics.lifecycle().set_ready(true);
  metrics.lifecycle().set_stop_deadline(monotonic_ms() + 60'000);
  metrics.lifecycle().stop_began(false);
  metrics.processes().signal_received("TERM");
  metrics.lifecycle().signal_ignored("INT");
  metrics.processes().restarted(Restarted::engine);
  metrics.processes().oom_killed(1);
  metrics.hooks().called(true);
  metrics.hooks().call_refused("");
  metrics.hooks().call_refused("/lifecycle/drain");
  metrics.hooks().disproved();
  metrics.hooks().set_waiting(1);
  metrics.hooks().released(std::chrono::seconds{3});
  metrics.hooks().set_engine_awaited(true);
  metrics.engine().set_verdict(lifecycle::Verdict::healthy);
  metrics.engine().check_ended("engine", {.result = CheckResult::passed, .latency = 5ms});
  metrics.engine().set_metrics_up(true);
  metrics.admission().set_requests(2, 1);
  metrics.admission().set_limits(256, 64);
  metrics.admission().waited(10ms);
  metrics.admission().set_busy(false);
  metrics.admission().set_rank_load(0, 1, 2, 3);
  metrics.lifecycle().set_shim_missing(true);
  metrics.ipc().set_peers("engine", 4);
  metrics.ipc().peer_dropped("slow_reader");
  metrics.ipc().error_sent("bad_json");
  metrics.registries().ended("etcd", RegistryOperation::register_, true, 12ms);
  metrics.registries().set_registered("etcd", true);
  metrics.ingress().set_connections(2, 1);
  metrics.ingress().refused("draining");
  metrics.ingress().evicted("connections");
  metrics.ingress().shed("address");
  metrics.ingress().set_buffers(4096);
  metrics.ingress().control_called(true);
  metrics.ingress().tls_failed("certificate");
  metrics.ingress().first_byte("m", "completions", 20ms);
  metrics.requests().settled(
      {.endpoint = "completions", .model = "m", .elapsed = lifecycle::Duration{20}});
  metrics.lifecycle().set_grace(60s);
  metrics.ingress().event_gap("completions", 20ms);
  metrics.supervisor().watch_heartbeat(state);
}

bool has_line(std::string const& text, std::string const& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::size_t count_lines(std::string const& text, std::string const& begin) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    count += line.starts_with(begin) ? 1U : 0U;
  }
  return count;
}

TEST(Metrics, Requests_are_counted_for_their_users_by_what_became_of_them) {
  Metrics metrics(kIdentity);
  using lifecycle::Outcome;
  for (Outcome const outcome : {Outcome::completed, Outcome::cancelled, Outcome::lost}) {
    metrics.requests().settled({.endpoint = "completions",
                                .model = "m",
                                .outcome = outcome,
                                .elapsed = lifecycle::Duration{30'000}});
  }
  metrics.requests().settled(
      {.endpoint = "completions", .model = "m", .outcome = Outcome::rejected, .begun = false});
  std::string const text = metrics.serialize();
  std::string const head = "dynamo_frontend_requests_total{endpoint=\"completions\",error_type=\"";
  for (char const* const tail :
       {"none\",model=\"m\",status=\"success\"} 1", "cancelled\",model=\"m\",status=\"error\"} 1",
        "internal\",model=\"m\",status=\"error\"} 1",
        "overload\",model=\"m\",status=\"error\"} 1"}) {
    EXPECT_TRUE(has_line(text, head + tail)) << text;
  }
  // One that was refused before it began took no time.
  std::string const duration = "dynamo_frontend_request_duration_seconds";
  EXPECT_TRUE(has_line(text, duration + "_count{model=\"m\"} 3")) << text;
  EXPECT_TRUE(has_line(text, duration + "_sum{model=\"m\"} 90")) << text;
}

TEST(Metrics, Requests_of_a_tier_above_are_counted_for_the_component_alone) {
  Metrics metrics(kIdentity);
  metrics.requests().settled({.endpoint = "completions", .model = "m", .from_tier = true});
  std::string const text = metrics.serialize();
  EXPECT_EQ(count_lines(text, "dynamo_frontend_request"), 0U);
  EXPECT_EQ(count_lines(text, "dynamo_component_request_duration_seconds_count"), 1U);
}

TEST(Metrics, Every_line_is_valid_exposition_text) {
  Metrics metrics(kIdentity);
  PublishedState const state;
  use_everything(metrics, state);
  metrics.requests().began("quo\"te\\back\nline");
  static std::regex const kComment(
      R"(# (HELP [a-z_]+ [^\n]+|TYPE [a-z_]+ (counter|gauge|histogram)))");
  static std::regex const kSample(
      R"([a-z_]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? (-?[0-9.e+-]+|\+Inf|NaN))");
  std::istringstream lines(metrics.serialize());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(std::regex_match(line, line.starts_with('#') ? kComment : kSample)) << line;
  }
}

TEST(Metrics, Every_sample_follows_the_type_line_of_its_family) {
  Metrics metrics(kIdentity);
  PublishedState const state;
  use_everything(metrics, state);
  std::istringstream lines(metrics.serialize());
  std::string family;
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(seen.insert(family).second) << family << " appears twice";
    } else if (!line.starts_with('#')) {
      EXPECT_TRUE(line.starts_with(family)) << line << " under " << family;
    }
  }
}

TEST(Metrics, Using_everything_fills_every_family_of_the_table) {
  Metrics metrics(kIdentity);
  PublishedState const state;
  use_everything(metrics, state);
  auto const text = metrics.serialize();
  for (auto const& family : metrics.families()) {
    std::string const name(family.name);
    EXPECT_EQ(count_lines(text, "# TYPE " + name + " "), 1U) << name;
    auto const sample = family.type == MetricType::histogram ? name + "_count" : name;
    EXPECT_GE(count_lines(text, sample), 1U) << name << " has no series";
  }
  EXPECT_EQ(count_lines(text, "# TYPE "), kFamilyNames.size()) << "a family is not in the table";
}

TEST(Metrics, Labels_are_those_of_the_table) {
  Metrics metrics(kIdentity);
  PublishedState const state;
  use_everything(metrics, state);
  std::istringstream lines(metrics.serialize());
  std::map<std::string_view, std::set<std::string>> expected;
  for (auto const& family : metrics.families()) {
    std::istringstream words{std::string(family.labels)};
    expected[family.name] = {std::istream_iterator<std::string>(words), {}};
  }
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
    }
    if (line.starts_with('#')) {
      continue;
    }
    std::set<std::string> labels;
    static std::regex const kLabel(R"re(([a-z_]+)=")re");
    for (std::sregex_iterator it(line.begin(), line.end(), kLabel); it != std::sregex_iterator();
         ++it) {
      if ((*it)[1] != "le") {
        labels.insert((*it)[1]);
      }
    }
    EXPECT_EQ(labels, expected[family]) << line;
  }
}

TEST(Metrics, Dynamo_series_read_as_in_its_documentation) {
  Metrics metrics(kIdentity);
  metrics.cancels().client_cancelled("Qwen/Qwen3-0.6B", "chat_completions", true);
  metrics.cancels().client_cancelled("Qwen/Qwen3-0.6B", "chat_completions", false);
  metrics.cancels().signalled("chat_completions", CancelReason::client_disconnect);
  metrics.cancels().signalled("prefill", CancelReason::client_disconnect);
  auto const text = metrics.serialize();
  EXPECT_TRUE(has_line(text,
                       "dynamo_frontend_model_cancellation_total{endpoint=\"chat_completions\","
                       "model=\"Qwen/Qwen3-0.6B\",request_type=\"stream\"} 1"))
      << text;
  EXPECT_TRUE(has_line(text,
                       "dynamo_component_cancellation_total{dynamo_component=\"backend\","
                       "dynamo_namespace=\"dynamo\",model=\"m\",worker_id=\"1a2b\","
                       "dynamo_endpoint=\"generate\"} 1"))
      << text << "the engine's endpoint, whatever the API calls it";
  EXPECT_TRUE(has_line(text,
                       "dynamo_component_cancellation_total{dynamo_component=\"backend\","
                       "dynamo_namespace=\"dynamo\",model=\"m\",worker_id=\"1a2b\","
                       "dynamo_endpoint=\"prefill\"} 1"))
      << text;
}

TEST(Metrics, A_refusal_counts_as_full_only_where_limit_and_queue_were) {
  Metrics metrics(kIdentity);
  metrics.requests().rejected("m", "e", RejectedReason::overloaded, {});  // by the engine's load
  metrics.requests().rejected("m", "e", RejectedReason::queue_timeout, {.begun = false});
  EXPECT_FALSE(has_line(metrics.serialize(), "dynamo_rejection_request_total 1"));
  metrics.requests().rejected("m", "e", RejectedReason::overloaded, {.full = true});
  auto const text = metrics.serialize();
  EXPECT_TRUE(has_line(text, "dynamo_rejection_request_total 1")) << text;
  EXPECT_TRUE(
      has_line(text, "dynamo_frontend_model_rejection_total{endpoint=\"e\",model=\"m\"} 3"));
}

TEST(Metrics, A_refusal_of_what_a_tier_above_relays_is_none_of_the_frontends) {
  Metrics metrics(kIdentity);
  metrics.requests().rejected("m", "e", RejectedReason::overloaded,
                              {.full = true, .from_tier = true});
  auto const text = metrics.serialize();
  EXPECT_EQ(text.find("dynamo_frontend_model_rejection_total{"), std::string::npos);
  EXPECT_TRUE(has_line(text, "dynamo_rejection_request_total 1")) << text;
}

TEST(Metrics, A_rank_that_reports_nothing_any_more_has_no_number) {
  Metrics metrics(kIdentity);
  metrics.admission().set_rank_load(3, 7, 9, std::nullopt);
  auto const text = metrics.serialize();
  EXPECT_TRUE(has_line(text, "lastcall_rank_active_decode_blocks{dp_rank=\"3\"} 7")) << text;
  EXPECT_TRUE(has_line(text, "lastcall_rank_active_prefill_tokens{dp_rank=\"3\"} Nan")) << text;
  metrics.admission().set_rank_load(3, std::nullopt, std::nullopt, std::nullopt);
  EXPECT_TRUE(
      has_line(metrics.serialize(), "lastcall_rank_active_decode_blocks{dp_rank=\"3\"} Nan"));
}

TEST(Metrics, In_flight_rises_and_falls_with_requests) {
  Metrics metrics(kIdentity);
  metrics.requests().began("generate");
  metrics.requests().began("generate");
  metrics.requests().ended("generate", Outcome::cancelled);
  auto const text = metrics.serialize();
  EXPECT_TRUE(has_line(text, "lastcall_requests_in_flight{endpoint=\"generate\"} 1"));
  EXPECT_TRUE(
      has_line(text, "lastcall_requests_total{endpoint=\"generate\",outcome=\"cancelled\"} 1"));
}

TEST(Metrics, A_refusal_because_of_a_drain_is_not_counted_as_lack_of_capacity) {
  Metrics metrics(kIdentity);
  metrics.requests().rejected("m", "e", RejectedReason::draining, {});
  auto const text = metrics.serialize();
  EXPECT_TRUE(has_line(text, "lastcall_rejections_total{reason=\"draining\"} 1"));
  EXPECT_EQ(count_lines(text, "dynamo_rejection_request_total"), 0U);
  EXPECT_EQ(count_lines(text, "dynamo_frontend_model_rejection_total"), 0U);
}

TEST(Metrics, Exactly_one_phase_and_one_verdict_is_one) {
  Metrics metrics(kIdentity);
  metrics.lifecycle().set_phase(Phase::serving);
  metrics.lifecycle().set_phase(Phase::draining);
  metrics.engine().set_verdict(lifecycle::Verdict::wedged);
  auto const text = metrics.serialize();
  EXPECT_EQ(count_lines(text, "lastcall_phase{"), 7U);
  EXPECT_TRUE(has_line(text, "lastcall_phase{phase=\"draining\"} 1"));
  EXPECT_TRUE(has_line(text, "lastcall_phase{phase=\"serving\"} 0"));
  EXPECT_TRUE(has_line(text, "lastcall_engine_health{verdict=\"wedged\"} 1"));
  EXPECT_TRUE(has_line(text, "lastcall_engine_health{verdict=\"healthy\"} 0"));
}

TEST(Metrics, The_deadline_is_there_only_while_a_stop_has_one) {
  Metrics metrics(kIdentity);
  EXPECT_EQ(count_lines(metrics.serialize(), "lastcall_stop_deadline_left_seconds"), 0U);
  metrics.lifecycle().set_stop_deadline(monotonic_ms() + 3'600'000);
  std::smatch left;
  auto const text = metrics.serialize();
  ASSERT_TRUE(std::regex_search(text, left,
                                std::regex(R"(\nlastcall_stop_deadline_left_seconds ([0-9.]+))")));
  EXPECT_GT(std::stod(left[1]), 3000.0);
  EXPECT_LE(std::stod(left[1]), 3600.0);
  metrics.lifecycle().set_stop_deadline(std::nullopt);
  EXPECT_EQ(count_lines(metrics.serialize(), "lastcall_stop_deadline_left_seconds"), 0U);
}

TEST(Metrics, Labelled_families_are_absent_until_first_use) {
  Metrics metrics(kIdentity);
  auto const text = metrics.serialize();
  EXPECT_EQ(count_lines(text, "lastcall_signals_total"), 0U);
  EXPECT_TRUE(has_line(text, "lastcall_build_info{version=\"1.2.3\"} 1")) << text;
}

TEST(Metrics, Names_that_others_choose_are_capped) {
  Metrics metrics(kIdentity);
  for (int i = 0; i < 1000; ++i) {
    metrics.cancels().client_cancelled("model-" + std::to_string(i), "chat_completions", false);
  }
  auto const text = metrics.serialize();
  EXPECT_EQ(count_lines(text, "dynamo_frontend_model_cancellation_total{"), kMaxLabelValues + 1);
  EXPECT_TRUE(has_line(text,
                       "dynamo_frontend_model_cancellation_total{endpoint=\"chat_completions\","
                       "model=\"other\",request_type=\"unary\"} 936"));
}

/// A series that is found again by its values is none that stood for others when they came.
TEST(Metrics, A_model_that_came_too_late_has_a_series_once_the_engine_has_answered_for_it) {
  Metrics metrics(kIdentity);
  for (std::size_t i = 0; i < kMaxLabelValues; ++i) {
    metrics.ingress().first_byte("m" + std::to_string(i), "chat_completions", 1ms);
  }
  metrics.ingress().first_byte("late", "chat_completions", 1ms);
  EXPECT_EQ(metrics.serialize().find("model=\"late\""), std::string::npos);
  metrics.model_served("late");
  metrics.ingress().first_byte("late", "chat_completions", 1ms);
  metrics.ingress().first_byte("late", "chat_completions", 1ms);
  std::string const text = metrics.serialize();
  constexpr std::string_view kCount = "dynamo_frontend_time_to_first_token_seconds_count{";
  EXPECT_NE(text.find(std::string(kCount) + "model=\"late\"} 2"), std::string::npos) << text;
  EXPECT_NE(text.find(std::string(kCount) + "model=\"other\"} 1"), std::string::npos);
}

TEST(Metrics, In_flight_returns_to_zero_also_beyond_the_cap) {
  Metrics metrics(kIdentity);
  for (int i = 0; i < 100; ++i) {
    metrics.requests().began("endpoint-" + std::to_string(i));
  }
  for (int i = 0; i < 100; ++i) {
    metrics.requests().ended("endpoint-" + std::to_string(i), Outcome::completed);
  }
  EXPECT_TRUE(has_line(metrics.serialize(), "lastcall_requests_in_flight{endpoint=\"other\"} 0"));
}

TEST(Metrics, Unusable_names_do_not_break_the_scrape) {
  Metrics metrics(kIdentity);
  metrics.requests().began("\xff\xfe");
  metrics.requests().began(std::string(5000, 'x'));
  metrics.requests().began("");
  auto const text = metrics.serialize();
  EXPECT_TRUE(has_line(text, "lastcall_requests_in_flight{endpoint=\"other\"} 2"));
  EXPECT_TRUE(has_line(text, "lastcall_requests_in_flight{endpoint=\"unknown\"} 1"));
  EXPECT_TRUE(utf8::is_valid(text));
}

TEST(Metrics, No_limit_is_infinity) {
  Metrics metrics(kIdentity);
  metrics.admission().set_limits(std::nullopt, 16);
  auto const text = metrics.serialize();
  EXPECT_TRUE(has_line(text, "lastcall_admission_limit{kind=\"running\"} +Inf"));
  EXPECT_TRUE(has_line(text, "lastcall_admission_limit{kind=\"waiting\"} 16"));
}

TEST(Metrics, Counting_and_scraping_may_happen_at_once) {
  Metrics metrics(kIdentity);
  std::thread scraper([&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(metrics.serialize().ends_with('\n'));
    }
  });
  for (int i = 0; i < 5000; ++i) {
    metrics.requests().began("endpoint-" + std::to_string(i % 70));
    metrics.lifecycle().set_stop_deadline(i % 2 == 0 ? std::optional<std::int64_t>(i)
                                                     : std::nullopt);
  }
  scraper.join();
}

}  // namespace
}  // namespace lastcall::probes::test
