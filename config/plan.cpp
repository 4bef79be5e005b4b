#include "config/plan.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/presets.hpp"
#include "config/text.hpp"

namespace lastcall::config {
namespace {

/// "12.345s", right-aligned so that rows line up.
std::string seconds_text(Duration duration) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%4lld.%03llds",
                static_cast<long long>(duration.count() / 1'000),
                static_cast<long long>(duration.count() % 1'000));
  return buffer.data();
}

std::vector<PlanRow> make_rows(Config const& config, lifecycle::Budgets const& budgets) {
  lifecycle::Instant const cause{};
  lifecycle::Instant const deadline = budgets.deadline(cause);
  Duration const deregistered = budgets.deregister_timeout;
  Duration const closed = budgets.closed_after();
  bool const hands_off_early = config.shutdown.migrate == Migrate::at_start;
  std::vector<PlanRow> rows{
      {Duration{0}, "cause", "the stop begins: every registry removes this instance"},
      {deregistered, "deregistered", "the registries have confirmed, or are no longer waited for"},
      {closed, "drain", "new requests are refused from here on; the drain begins"},
  };
  if (hands_off_early) {
    rows.push_back(
        {closed, "migrate", "requests of endpoints with graceful_shutdown: false are handed off"});
  }
  Duration const stop_cancel = budgets.stop_cancel_at(deadline) - cause;
  Duration const kill_cancel = budgets.kill_cancel_at(deadline) - cause;
  rows.push_back({stop_cancel, "stop_cancel", "the drain ends: what still runs is asked to stop"});
  if (config.lifecycle.enabled) {  // preStop mode: no shim, the kubelet ends the engine
    rows.push_back({kill_cancel, "kill_cancel",
                    "what still runs is killed; preStop returns, the kubelet sends SIGTERM"});
    rows.push_back(
        {deadline - cause, "deadline", "the kubelet's SIGKILL is near: the supervisor exits"});
    return rows;
  }
  std::vector<PlanRow> const end{
      {kill_cancel, "kill_cancel", "what still runs is killed; cleanup begins"},
      {budgets.engine_term_at(deadline) - cause, "engine_term",
       resolve_engine(config).stop_signal + " to the engine"},
      {budgets.shim_term_at(deadline) - cause, "shim_term",
       "the shim sends TERM if it has received no order"},
      {budgets.engine_kill_at(deadline) - cause, "engine_kill",
       "SIGKILL to what is left of the engine's processes"},
      {deadline - cause, "deadline", "exit"},
  };
  rows.insert(rows.end(), end.begin(), end.end());
  return rows;
}

}  // namespace

Plan make_plan(Config const& config, PodGrace const& grace) {
  lifecycle::BudgetPlan derived = lifecycle::derive_budgets(shutdown_settings(config), grace.value);
  Plan plan;
  plan.grace = grace;
  plan.budgets = lifecycle::with_room_for_cleanup(derived.budgets, !config.cleanup.hooks.empty());
  plan.rows = make_rows(config, plan.budgets);
  plan.warnings = std::move(derived.warnings);
  return plan;
}

std::string to_text(Plan const& plan) {
  std::string text = "shutdown timeline, latest instants after the cause\n";
  if (!plan.grace.note.empty()) {
    text += "(" + plan.grace.note + ")\n";
  }
  text += "\n";
  for (PlanRow const& row : plan.rows) {
    text += seconds_text(row.at) + "  " + row.what + "\n";
  }
  return text;
}

std::string to_json(Plan const& plan) {
  nlohmann::ordered_json json;
  json["pod_grace_ms"] = nullptr;
  if (plan.grace.value) {
    json["pod_grace_ms"] = plan.grace.value->count();
  }
  json["note"] = plan.grace.note;
  json["budgets"] = {{"total_ms", plan.budgets.total.count()},
                     {"deregister_ms", plan.budgets.deregister_timeout.count()},
                     {"late_accept_ms", plan.budgets.late_accept.count()},
                     {"cleanup_reserve_ms", plan.budgets.reserve.count()},
                     {"cancel_settle_ms", plan.budgets.settle.count()},
                     {"kill_margin_ms", plan.budgets.kill_margin.count()}};
  json["timeline"] = nlohmann::ordered_json::array();
  for (PlanRow const& row : plan.rows) {
    json["timeline"].push_back({{"at_ms", row.at.count()}, {"id", row.id}, {"what", row.what}});
  }
  json["warnings"] = plan.warnings;
  return json.dump(2) + "\n";
}

}  // namespace lastcall::config
