#include "supervisor/cli/status_view.hpp"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <map>
#include <sstream>
#include <utility>

#include "base/json_member.hpp"
#include "base/visible_text.hpp"
#include "supervisor/cli/json_view.hpp"
#include "telemetry/rows.hpp"

namespace lastcall::cli {
namespace {

using telemetry::duration_text;
using telemetry::fitted;
using telemetry::put_row;

/// Finds the part of the plan that runs now: the one by the clock, or a later one if the earlier
/// phases took less time than allowed.
std::size_t part_now(JsonValue const& status, JsonValue const& parts, std::int64_t now) {
  std::string const phase = member_text(status, "phase");
  std::size_t found = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (member_text(parts[i], "name") == phase || member_number(parts[i], "from_ms") <= now) {
      found = i;
    }
  }
  return found;
}

/// Shows the parts of a stop, its progress in them, and the latest end of each.
void put_plan(std::ostream& out, JsonValue const& status, ViewOptions options) {
  constexpr std::size_t kNarrowest = 16;
  constexpr std::size_t kWidest = 60;
  JsonValue const& plan = json::member(status, "plan");
  std::int64_t const total = member_number(plan, "total_ms");
  if (!member_flag(plan, "under_way") || total <= 0) {
    return;
  }
  std::size_t const room = options.columns > telemetry::kLabel + kNarrowest + 2
                               ? options.columns - telemetry::kLabel - 2
                               : kNarrowest;
  std::size_t const width = options.columns == 0 ? kWidest : std::min(room, kWidest);
  std::int64_t const now = member_number(plan, "now_ms");
  auto const cell_of = [&](std::int64_t ms) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(ms, 0, total)) * (width - 1) /
           static_cast<std::size_t>(total);
  };
  std::string bar(width, '.');
  std::fill_n(bar.begin(), cell_of(now), '#');
  std::string ends;
  JsonValue const& parts = json::member(plan, "parts");
  std::size_t const current = part_now(status, parts, now);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    JsonValue const& part = parts[i];
    std::int64_t const from = member_number(part, "from_ms");
    std::int64_t const to = member_number(part, "to_ms");
    if (from > 0) {
      bar[cell_of(from)] = '|';
    }
    std::string const text = member_text(part, "name") + " to " + duration_text(to);
    ends += (ends.empty() ? "" : ", ") + (i == current ? painted(text, true, options) : text);
  }
  bar[cell_of(now)] = '>';
  put_row(out, "plan", "[" + bar + "]");
  put_row(out, "", ends);
}

void put_cut(std::ostream& out, JsonValue const& status) {
  if (status.contains("cut_left_ms")) {
    put_row(out, "requests", "are cut in " + duration_text(member_number(status, "cut_left_ms")));
  }
}

void put_stop(std::ostream& out, JsonValue const& status) {
  if (!status.contains("cause")) {
    return;
  }
  std::string const detail = member_text(status, "cause_detail");
  put_row(out, "stop",
          member_text(status, "mode") + ", cause " + member_text(status, "cause") +
              (detail.empty() ? "" : " (" + detail + ")"));
  if (status.contains("deadline_left_ms")) {
    put_row(out, "deadline", "in " + duration_text(member_number(status, "deadline_left_ms")));
  }
}

/// In preStop mode: shows which hooks wait, and whether the supervisor waits for a new engine.
void put_hook(std::ostream& out, JsonValue const& status) {
  if (JsonValue const& hook = json::member(status, "prestop"); !hook.empty()) {
    std::string line = "called " + duration_text(member_number(hook, "called_ms")) + " ago, ";
    line += member_flag(hook, "deletion") ? "the pod is being deleted" : "a container restart";
    if (member_flag(hook, "waits")) {
      line += ", returns within " + duration_text(member_number(hook, "returns_within_ms"));
    }
    put_row(out, "preStop", line);
  }
  if (JsonValue const& replacement = json::member(status, "replacement"); !replacement.empty()) {
    put_row(out, "preStop",
            "waiting for another engine for " +
                duration_text(member_number(replacement, "for_ms")) +
                (member_flag(replacement, "condemned") ? ", this one was found dead" : ""));
  }
}

/// What is in flight on the endpoints of one name. Peers may have the same name or none, with
/// `graceful_shutdown` or without; the engine may also announce requests that the ingress relays.
class EndpointRow {
 public:
  void add(JsonValue const& endpoint) {
    bool const is_relayed = member_text(endpoint, "peer") == "ingress";
    Counts& counts = is_relayed ? relayed_ : announced_;
    std::int64_t const count = member_number(endpoint, "in_flight");
    bool const drains = member_flag(endpoint, "graceful_shutdown");
    counts.all += count;
    counts.draining += drains ? count : 0;
    may_drain_ = may_drain_ || drains;
  }

  std::int64_t in_flight() const { return std::max(relayed_.all, announced_.all); }
  /// Whether a drain waits for requests of any of these endpoints.
  bool may_drain() const { return may_drain_; }

  std::string text() const {
    std::int64_t const draining = std::max(relayed_.draining, announced_.draining);
    std::string const all = std::to_string(in_flight());
    if (draining == 0) {
      return all + ", migrates";
    }
    return draining == in_flight() ? all + ", drains"
                                   : all + ", of which " + std::to_string(draining) + " drain";
  }

 private:
  struct Counts {
    std::int64_t all = 0;
    std::int64_t draining = 0;
  };
  Counts relayed_;
  Counts announced_;
  bool may_drain_ = false;
};

/// Users want to see what is still in flight, so endpoints with nothing in flight share one row.
void put_endpoints(std::ostream& out, JsonValue const& status) {
  std::map<std::string, EndpointRow> endpoints;
  for (JsonValue const& endpoint : json::member(status, "endpoints")) {
    std::string name = member_text(endpoint, "name");
    endpoints[name.empty() ? "(unnamed)" : std::move(name)].add(endpoint);
  }
  std::string idle;
  for (auto const& [name, row] : endpoints) {
    if (row.in_flight() > 0) {
      put_row(out, "", name + ": " + row.text());
    } else {
      idle += (idle.empty() ? "idle: " : ", ") + name + (row.may_drain() ? "" : " (migrates)");
    }
  }
  if (!idle.empty()) {
    put_row(out, "", idle);
  }
}

void put_requests(std::ostream& out, JsonValue const& status) {
  JsonValue const& flight = json::member(status, "in_flight");
  std::string const source = member_text(flight, "source", "unknown");
  std::string line = source == "unknown" ? std::string("unknown (no SDK or ingress counts them)")
                                         : std::to_string(member_number(flight, "requests"));
  if (std::int64_t const late = member_number(flight, "late"); late > 0) {
    line += ", " + std::to_string(late) + " late";
  }
  if (std::int64_t const oldest = member_number(flight, "oldest_ms"); oldest > 0) {
    line += ", oldest " + duration_text(oldest);
  }
  put_row(out, "in flight", line);
  put_endpoints(out, status);
}

/// Shows how many requests run and wait if there is a limit, and always whether the engine is busy.
void put_admission(std::ostream& out, JsonValue const& status) {
  JsonValue const& admission = json::member(status, "admission");
  bool const busy = member_flag(admission, "busy");
  std::int64_t const limit = member_number(admission, "engine_request_limit");
  if (!busy && limit == 0 && member_number(admission, "engine_wait_limit") == 0) {
    return;
  }
  auto const count = [&admission](char const* key) {
    return std::to_string(member_number(admission, key));
  };
  std::string line = count("running") + " running, " + count("waiting") + " waiting";
  if (limit > 0) {
    line += ", at most " + std::to_string(limit) + " and " + count("queue_limit");
  }
  put_row(out, "admission", line + (busy ? "; busy" : ""));
}

void put_health(std::ostream& out, JsonValue const& status, ViewOptions options) {
  JsonValue const& health = json::member(status, "health");
  std::string const verdict = member_text(health, "verdict", "unknown");
  put_row(out, "health",
          painted(verdict, verdict == "healthy", options) + ": " + member_text(health, "reason"));
  for (JsonValue const& check : json::member(health, "checks")) {
    std::string line = member_text(check, "name") + ": " + member_text(check, "state");
    if (std::int64_t const failures = member_number(check, "failures"); failures > 0) {
      line += " (" + std::to_string(failures) + " in a row)";
    }
    if (std::string const detail = member_text(check, "detail"); !detail.empty()) {
      line += ", " + detail;
    }
    put_row(out, "", line);
  }
}

void put_engine(std::ostream& out, JsonValue const& status) {
  JsonValue const& engine = json::member(status, "engine");
  std::string line = member_text(engine, "state", "unknown");
  if (engine.contains("pid")) {
    line += ", pid " + std::to_string(member_number(engine, "pid"));
  }
  put_row(out, "engine", line + ", shim " + member_text(engine, "shim", "none"));
}

void put_surroundings(std::ostream& out, JsonValue const& status) {
  for (JsonValue const& registry : json::member(status, "registries")) {
    std::string line = member_text(registry, "name") + ": " + member_text(registry, "state");
    if (std::string const error = member_text(registry, "error"); !error.empty()) {
      line += ", " + error;
    }
    put_row(out, "registry", line);
  }
  for (JsonValue const& warning : json::member(status, "warnings")) {
    if (warning.is_string()) {
      put_row(out, "warning", visible(warning.get_ref<std::string const&>()));
    }
  }
}

}  // namespace

std::string status_text(std::string_view status_json, ViewOptions options) {
  JsonValue const status = json::parsed<JsonValue>(status_json);
  if (!status.is_object()) {
    return std::string(status_json);
  }
  std::ostringstream out;
  std::string const phase = member_text(status, "phase", "unknown");
  bool const ready = member_flag(status, "ready");
  put_row(out, "phase",
          painted(phase, phase == "serving", options) + " for " +
              duration_text(member_number(status, "phase_for_ms")));
  put_stop(out, status);
  put_plan(out, status, options);
  put_cut(out, status);
  put_row(out, "ready",
          ready ? painted("yes", true, options)
                : painted("no", false, options) + ": " + member_text(status, "ready_reason"));
  put_hook(out, status);
  put_requests(out, status);
  put_admission(out, status);
  put_health(out, status, options);
  put_engine(out, status);
  put_surroundings(out, status);
  return fitted(out.str(), options.columns);
}

std::string drain_bar(std::string_view status_json, std::size_t& most) {
  constexpr std::size_t kWidth = 24;
  JsonValue const status = json::parsed<JsonValue>(status_json);
  if (!status.is_object()) {
    return std::string(status_json);
  }
  JsonValue const& flight = json::member(status, "in_flight");
  bool const known = member_text(flight, "source", "unknown") != "unknown";
  auto const left =
      static_cast<std::size_t>(std::max<std::int64_t>(member_number(flight, "requests"), 0));
  most = std::max(most, left);
  std::size_t const all_done = known ? kWidth : 0;
  std::size_t const done = most == 0 ? all_done : kWidth * (most - left) / most;
  std::ostringstream out;
  out << std::left << std::setw(14) << member_text(status, "phase", "unknown") << '['
      << std::string(done, '#') << std::string(kWidth - done, '.') << "] ";
  if (known) {
    out << left << " in flight";
  } else {
    out << "in flight unknown";
  }
  if (status.contains("cut_left_ms")) {
    out << ", requests are cut in " << duration_text(member_number(status, "cut_left_ms"));
  } else if (status.contains("deadline_left_ms")) {
    out << ", deadline in " << duration_text(member_number(status, "deadline_left_ms"));
  }
  return out.str();
}

}  // namespace lastcall::cli
