#include "supervisor/runtime/listener/public_status.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "supervisor/runtime/listener/stop_plan.hpp"
#include "supervisor/runtime/sessions/admission_control.hpp"

namespace lastcall::runtime {
namespace {

using Document = nlohmann::ordered_json;
using lifecycle::Instant;
using lifecycle::name;
using lifecycle::Phase;
using lifecycle::to_ms;

constexpr std::size_t kMostEndpoints = 32;

/// Adds the times at which requests that still run are asked to end, and are killed.
void put_cut(Document& json, StatusSources const& sources, lifecycle::Snapshot const& snapshot,
             Instant now) {
  lifecycle::StopClock const& clock = sources.core.clock();
  bool const drains = snapshot.phase == Phase::deregistering || snapshot.phase == Phase::draining;
  auto const kill = clock.kill_cancel_point();
  if (snapshot.cut_at) {
    json["cut_in_ms"] = to_ms(*snapshot.cut_at - now);
  }
  if (drains && kill) {
    json["kill_in_ms"] = to_ms(*kill - now);
  }
}

/// The users' requests by endpoint, the busiest endpoint first.
Document endpoints_of(lifecycle::Lifecycle const& core) {
  struct Row {
    std::string_view name;
    std::uint64_t running = 0;
    std::uint64_t waiting = 0;
    std::uint64_t all() const { return running + waiting; }
  };
  std::map<std::string_view, Row> counted;
  core.requests().for_each(
      [&counted](lifecycle::RequestView const& view) {
        if (view.parent.empty()) {
          Row& row = counted[view.endpoint];
          row.name = view.endpoint;
          ++(view.standing == lifecycle::Standing::waiting ? row.waiting : row.running);
        }
      },
      core.endpoints());
  core.endpoints().for_each([&counted](lifecycle::EndpointTracker::Endpoint const& endpoint) {
    counted[endpoint.name].name = endpoint.name;
  });
  std::vector<Row> rows;
  for (auto const& [key, row] : counted) {
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](Row const& a, Row const& b) { return a.all() > b.all(); });
  rows.resize(std::min(rows.size(), kMostEndpoints));
  Document list = Document::array();
  for (Row const& row : rows) {
    list.push_back({{"name", row.name}, {"running", row.running}, {"waiting", row.waiting}});
  }
  return list;
}

Document public_in_flight_of(StatusSources const& sources, lifecycle::Snapshot const& snapshot,
                             Instant now) {
  auto const oldest = sources.core.requests().oldest();
  Document json{{"source", name(snapshot.source)}};
  if (snapshot.source != lifecycle::InFlightSource::unknown) {
    json["requests"] = snapshot.in_flight;
  }
  json["late"] = snapshot.late;
  json["oldest_ms"] = oldest ? to_ms(now - *oldest) : 0;
  json["unconfirmed_cancels"] = snapshot.unconfirmed_cancels;
  json["endpoints"] = endpoints_of(sources.core);
  put_cut(json, sources, snapshot, now);
  return json;
}

Document public_engine_of(StatusSources const& sources, lifecycle::Snapshot const& snapshot) {
  Document json{{"state", snapshot.shim_known ? name(snapshot.engine) : "unknown"}};
  put_shim_and_end(json, sources, snapshot);
  return json;
}

Document public_registries_of(StatusSources const& sources) {
  Document list = Document::array();
  for (discovery::RegistryStatus const& status : sources.registries.status()) {
    list.push_back({{"name", status.name},
                    {"state", discovery::name(status.state)},
                    {"failing", !status.last_error.empty()}});
  }
  return list;
}

/// The object without the texts that people or programs wrote into it.
Document outcomes_of(Document const& object) {
  Document kept = object;
  kept.erase("detail");
  return kept;
}

}  // namespace

Document public_report(std::string const& report) {
  Document json = Document::parse(report, nullptr, false);
  if (!json.is_object()) {
    return Document::object();
  }
  json.erase("detail");
  for (char const* const list : {"cleanup", "registries"}) {
    if (json.contains(list)) {
      for (Document& item : json[list]) {
        item = outcomes_of(item);
      }
    }
  }
  if (json.contains("engine")) {
    json["engine"] = outcomes_of(json["engine"]);
    json["engine"].erase("left_behind");
  }
  return json;
}

void PublicStatus::note(lifecycle::Snapshot const& snapshot, Instant now) {
  if (!history_.empty() && history_.back().verdict == snapshot.verdict) {
    history_.back().reason = snapshot.verdict_reason;
    return;
  }
  history_.push_back({now, snapshot.verdict, std::string(snapshot.verdict_reason)});
  if (history_.size() > kHistory) {
    history_.pop_front();
  }
}

void PublicStatus::reported(std::string const& report, Instant now) {
  report_ = Reported{now, public_report(report).dump()};
}

Document PublicStatus::health_of(StatusSources const& sources, lifecycle::Snapshot const& snapshot,
                                 Instant now) const {
  Document checks = Document::array();
  for (HealthDriver::Row const& row : sources.health.rows()) {
    checks.push_back({{"name", row.name}, {"state", check_state(row.last)}});
    if (row.last) {
      checks.back()["latency_ms"] = to_ms(row.latency);
    }
  }
  Document history = Document::array();
  for (Change const& change : history_) {
    history.push_back({{"verdict", name(change.verdict)}, {"ago_ms", to_ms(now - change.at)}});
  }
  return {{"verdict", name(snapshot.verdict)},
          {"checks", std::move(checks)},
          {"history", std::move(history)}};
}

std::string PublicStatus::json(StatusSources const& sources, Instant now) const {
  lifecycle::Snapshot const snapshot = sources.core.snapshot();
  Readiness const readiness = sources.readiness();
  Document json{{"version", LASTCALL_VERSION},
                {"phase", name(snapshot.phase)},
                {"phase_for_ms", to_ms(now - snapshot.phase_began)},
                {"ready", readiness.is_ready},
                {"plan", plan_of(sources.core, snapshot, now)},
                {"in_flight", public_in_flight_of(sources, snapshot, now)},
                {"admission", admission_json(snapshot.admission)},
                {"health", health_of(sources, snapshot, now)},
                {"engine", public_engine_of(sources, snapshot)},
                {"registries", public_registries_of(sources)}};
  if (report_) {
    json["report"] = Document::parse(report_->document);
    json["report"]["ago_ms"] = to_ms(now - report_->at);
  }
  return json::dump(json) + "\n";
}

}  // namespace lastcall::runtime
