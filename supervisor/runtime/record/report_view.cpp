#include "supervisor/runtime/record/report_view.hpp"

#include <cstdint>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "telemetry/rows.hpp"

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;

/// The log prints the text below a heading, indented by this many columns.
constexpr std::size_t kIndent = 4;

std::string word(Json const& object, char const* key) {
  return json::text(json::member(object, key));
}

std::int64_t figure(Json const& object, char const* key) {
  Json const& found = json::member(object, key);
  return found.is_number() ? found.get<std::int64_t>() : 0;
}

void append_item(std::string& list, std::string const& item) {
  list += (list.empty() ? "" : ", ") + item;
}

/// Formats a step such as "draining 3.4 s", and adds how it ended unless it was completed.
std::string step_text(std::string const& name, Json const& step) {
  std::string const outcome = word(step, "outcome");
  if (outcome == "skipped") {
    return name + " skipped";
  }
  std::string text = name + ' ' + telemetry::duration_text(figure(step, "ms"));
  if (outcome != "completed") {
    text += " (" + outcome + ')';
  }
  return text;
}

void put_outcome(std::ostream& out, Json const& report) {
  std::string const verdict = "exit code " + std::to_string(figure(report, "exit_code"));
  std::string const detail = word(report, "detail");
  std::string text = word(report, "mode") + ", cause " + word(report, "cause");
  text += (detail.empty() ? "" : " (" + detail.substr(0, detail.find('\n')) + ")");
  telemetry::put_row(out, "stop", text + ", " + verdict);
}

void put_steps(std::ostream& out, Json const& report) {
  std::string steps;
  for (auto const& [name, step] : json::member(report, "phases").items()) {
    append_item(steps, step_text(name, step));
  }
  telemetry::put_row(out, "phases", steps);
  std::int64_t const left = figure(report, "time_left_ms");
  telemetry::put_row(out, "time left", telemetry::duration_text(left) + " before the deadline");
}

void put_ended(std::ostream& out, Json const& report) {
  std::string ended;
  for (auto const& [outcome, count] : json::member(report, "requests").items()) {
    if (count.is_number() && count.get<std::int64_t>() > 0) {
      append_item(ended, std::to_string(count.get<std::int64_t>()) + ' ' + outcome);
    }
  }
  std::string const source = word(report, "in_flight");
  std::int64_t const unseen = figure(report, "in_flight_at_phase");
  if (unseen > 0) {
    append_item(ended, std::to_string(unseen) +
                           " in flight before the supervisor was restarted, and not all of "
                           "them were seen to end");
  }
  if (ended.empty()) {
    ended = source == "unknown" ? "unknown: no SDK or ingress counted them" : "none was in flight";
  }
  if (report.contains("in_flight_at_end")) {
    append_item(ended, std::to_string(figure(report, "in_flight_at_end")) +
                           " in flight when the time was up");
  }
  if (std::int64_t const longest = figure(report, "longest_request_ms"); longest > 0) {
    append_item(ended, "the longest took " + telemetry::duration_text(longest));
  }
  telemetry::put_row(out, "requests", ended);
}

void put_cleanup(std::ostream& out, Json const& report) {
  std::string done;
  for (auto const& [name, item] : json::member(report, "cleanup").items()) {
    std::string const outcome = word(item, "outcome");
    if (outcome == "skipped") {
      continue;
    }
    std::string const detail = word(item, "detail");
    append_item(done, step_text(name, item) + (detail.empty() ? "" : ": " + detail));
  }
  if (!done.empty()) {
    telemetry::put_row(out, "cleanup", done);
  }
  for (Json const& registry : json::member(report, "registries")) {
    std::string const detail = word(registry, "detail");
    telemetry::put_row(out, "registry",
                       word(registry, "name") + ": " + word(registry, "state") +
                           (detail.empty() ? "" : ", " + detail));
  }
}

void put_end_of_engine(std::ostream& out, Json const& report) {
  Json const& engine = json::member(report, "engine");
  if (engine.empty()) {
    return;
  }
  std::string text = word(engine, "state");
  for (char const* const how : {"code", "signal"}) {
    if (engine.contains(how)) {
      text += std::string(", ") + how + ' ' + std::to_string(figure(engine, how));
    }
  }
  if (engine.value("ordered", true) == false) {
    text += ", by itself";
  }
  if (engine.value("oom", false)) {
    text += ", out of memory";
  }
  if (Json const& left = json::member(engine, "left_behind"); !left.empty()) {
    std::string names;
    for (Json const& name : json::member(left, "names")) {
      append_item(names, name.is_string() ? name.get<std::string>() : name.dump());
    }
    text += ", left behind " + names;
  }
  telemetry::put_row(out, "engine", text);
}

}  // namespace

std::string report_text(std::string_view report_json, std::size_t columns) {
  Json const report = Json::parse(report_json, nullptr, false);
  if (!report.is_object()) {
    return std::string(report_json);
  }
  std::ostringstream out;
  put_outcome(out, report);
  put_steps(out, report);
  put_ended(out, report);
  put_end_of_engine(out, report);
  put_cleanup(out, report);
  return telemetry::fitted(out.str(), columns > kIndent ? columns - kIndent : 0);
}

}  // namespace lastcall::runtime
