#include "config/plan.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/config/support.hpp"

namespace lastcall::config {
namespace {

using namespace std::chrono_literals;

TEST(Plan, The_defaults_give_this_timeline) {
  EXPECT_EQ(to_text(make_plan(Config{}, PodGrace{})),
            R"(shutdown timeline, latest instants after the cause

   0.000s  the stop begins: every registry removes this instance
   5.000s  the registries have confirmed, or are no longer waited for
   6.000s  new requests are refused from here on; the drain begins
  55.000s  the drain ends: what still runs is asked to stop
  56.000s  what still runs is killed; cleanup begins
  58.000s  SIGTERM to the engine
  58.500s  the shim sends TERM if it has received no order
  59.000s  SIGKILL to what is left of the engine's processes
  60.000s  exit
)");
}

TEST(Plan, A_pod_of_30_seconds_ends_two_seconds_early) {
  Config config;
  config.shutdown.migrate = Migrate::at_start;
  config.engine.stop_signal = "SIGINT";
  EXPECT_EQ(to_text(make_plan(config, PodGrace{30s, "the pod grants 30s"})),
            R"(shutdown timeline, latest instants after the cause
(the pod grants 30s)

   0.000s  the stop begins: every registry removes this instance
   5.000s  the registries have confirmed, or are no longer waited for
   6.000s  new requests are refused from here on; the drain begins
   6.000s  requests of endpoints with graceful_shutdown: false are handed off
  23.000s  the drain ends: what still runs is asked to stop
  24.000s  what still runs is killed; cleanup begins
  26.000s  SIGINT to the engine
  26.500s  the shim sends TERM if it has received no order
  27.000s  SIGKILL to what is left of the engine's processes
  28.000s  exit
)");
}

TEST(Plan, Without_a_shim_the_kubelet_ends_the_engine) {
  Config config;
  config.lifecycle.enabled = true;
  EXPECT_EQ(to_text(make_plan(config, PodGrace{30s, "the pod grants 30s"})),
            R"(shutdown timeline, latest instants after the cause
(the pod grants 30s)

   0.000s  the stop begins: every registry removes this instance
   5.000s  the registries have confirmed, or are no longer waited for
   6.000s  new requests are refused from here on; the drain begins
  23.000s  the drain ends: what still runs is asked to stop
  24.000s  what still runs is killed; preStop returns, the kubelet sends SIGTERM
  28.000s  the kubelet's SIGKILL is near: the supervisor exits
)");
}

std::string const kJson = R"({
  "pod_grace_ms": 8000,
  "note": "n",
  "budgets": {
    "total_ms": 6000,
    "deregister_ms": 1125,
    "late_accept_ms": 1000,
    "cleanup_reserve_ms": 3000,
    "cancel_settle_ms": 750,
    "kill_margin_ms": 750
  },
  "timeline": [
    {
      "at_ms": 0,
      "id": "cause",
      "what": "the stop begins: every registry removes this instance"
    },
    {
      "at_ms": 1125,
      "id": "deregistered",
      "what": "the registries have confirmed, or are no longer waited for"
    },
    {
      "at_ms": 1125,
      "id": "drain",
      "what": "new requests are refused from here on; the drain begins"
    },
    {
      "at_ms": 2250,
      "id": "stop_cancel",
      "what": "the drain ends: what still runs is asked to stop"
    },
    {
      "at_ms": 3000,
      "id": "kill_cancel",
      "what": "what still runs is killed; cleanup begins"
    },
    {
      "at_ms": 4500,
      "id": "engine_term",
      "what": "SIGTERM to the engine"
    },
    {
      "at_ms": 4875,
      "id": "shim_term",
      "what": "the shim sends TERM if it has received no order"
    },
    {
      "at_ms": 5250,
      "id": "engine_kill",
      "what": "SIGKILL to what is left of the engine's processes"
    },
    {
      "at_ms": 6000,
      "id": "deadline",
      "what": "exit"
    }
  ],
  "warnings": [
)";

TEST(Plan, JSON_has_the_same_numbers_in_milliseconds) {
  Config config;
  config.shutdown.budgets.grace_period = 10s;
  Plan const plan = make_plan(config, PodGrace{8s, "n"});
  std::string warnings;
  for (std::string const& warning : plan.warnings) {
    warnings += (warnings.empty() ? "    \"" : ",\n    \"") + warning + "\"";
  }
  EXPECT_EQ(to_json(plan), kJson + warnings + "\n  ]\n}\n");
}

TEST(Plan, Rows_are_in_the_order_of_time_whatever_the_settings) {
  for (auto const reserve : {0s, 1s, 2s, 5s, 60s}) {
    for (auto const grace : {1s, 2s, 7s, 60s}) {
      Config config;
      config.shutdown.budgets.cleanup_reserve = reserve;
      config.shutdown.budgets.grace_period = grace;
      Plan const plan = make_plan(config, PodGrace{});
      EXPECT_TRUE(std::is_sorted(plan.rows.begin(), plan.rows.end(),
                                 [](PlanRow const& a, PlanRow const& b) { return a.at < b.at; }));
      EXPECT_EQ(plan.rows.back().id, "deadline");
      EXPECT_EQ(plan.rows.back().at, plan.budgets.total);
    }
  }
}

}  // namespace
}  // namespace lastcall::config
