#include "supervisor/kube/fleet_status.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/visible_text.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/kube/pod.hpp"

namespace lastcall::kube {
namespace {

using json::member;
using json::text;

constexpr std::chrono::seconds kProxyPatience{3};

/// The value on a line `name{labels} value`; nothing if the line has another name.
std::optional<double> value_of(std::string const& line, std::string_view name) {
  bool const is_it =
      line.starts_with(name) && (line[name.size()] == ' ' || line[name.size()] == '{');
  auto const space = line.rfind(' ');
  if (!is_it || space == std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  double const value = std::strtod(line.c_str() + space, &end);
  return end == line.c_str() + space || !std::isfinite(value) ? std::nullopt : std::optional(value);
}

/// Makes a row from a document of the status page.
Json row_of(Json const& page) {
  Json row{{"phase", member(page, "phase")}, {"ready", member(page, "ready")}};
  Json const& in_flight = member(page, "in_flight");
  row["in_flight"] = member(in_flight, "requests");
  row["cut_in_ms"] = member(in_flight, "cut_in_ms");
  row["deadline_in_ms"] = member(member(page, "plan"), "left_ms");
  return row;
}

Json ask(ApiServer& api, Pod const& pod) {
  std::string const proxy = api.path("v1", "pods/" + pod.name + ":" + pod.port + "/proxy");
  Answer answer = api.get(proxy + "/status", kProxyPatience);
  Json const page = json::parsed<Json>(answer.body);
  if (answer.is_good() && member(page, "phase").is_string()) {
    return row_of(page);
  }
  if (answer.status == 404) {
    answer = api.get(proxy + "/metrics", kProxyPatience);
  }
  if (!answer.is_good()) {
    return {{"problem", answer.error}};
  }
  Json row = status_from_metrics(answer.body);
  if (!member(row, "phase").is_string()) {
    row["problem"] = "no lastcall at port " + pod.port;
  }
  return row;
}

std::string seconds_of(Json const& ms) {
  if (!ms.is_number()) {
    return "-";
  }
  auto const tenths = static_cast<std::int64_t>(ms.get<double>() / 100);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string cell(Json const& json) {
  std::string const text = json.is_null() ? "-" : json::text(json);
  return visible(text.empty() ? json::dump(json) : text);
}

void print_table(std::vector<std::vector<std::string>> const& rows, std::ostream& out) {
  std::vector<std::size_t> widths(rows.front().size());
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] + 2 - row[i].size(), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

}  // namespace

Json status_from_metrics(std::string const& metrics) {
  Json row{{"phase", nullptr},
           {"ready", nullptr},
           {"in_flight", nullptr},
           {"cut_in_ms", nullptr},
           {"deadline_in_ms", nullptr}};
  std::istringstream lines(metrics);
  double in_flight = 0;
  bool has_in_flight = false;
  for (std::string line; std::getline(lines, line);) {
    auto const phase = value_of(line, "lastcall_phase");
    if (phase && *phase > 0) {
      auto const begin = line.find("phase=\"") + 7;
      row["phase"] = line.substr(begin, line.find('"', begin) - begin);
    } else if (auto const count = value_of(line, "lastcall_requests_in_flight")) {
      in_flight += *count;
      has_in_flight = true;
    } else if (auto const left = value_of(line, "lastcall_stop_deadline_left_seconds")) {
      row["deadline_in_ms"] = static_cast<std::int64_t>(*left * 1000);
    }
  }
  if (has_in_flight) {
    row["in_flight"] = static_cast<std::int64_t>(in_flight);
  }
  return row;
}

int print_fleet_status(ApiServer& api, std::string const& selector, bool json, std::ostream& out,
                       std::ostream& err) {
  ListAnswer const listed = api.list(api.path("v1", "pods"), "labelSelector=" + escaped(selector));
  if (!listed.error.empty() || listed.items.empty()) {
    err << "lastcall rollout status: "
        << (listed.error.empty() ? "no pod has the labels " + selector : listed.error) << '\n';
    return 1;
  }
  bool all_answered = true;
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows{
      {"POD", "READY", "ENDING", "PHASE", "IN FLIGHT", "CUT IN", "DEADLINE IN"}};
  for (Json const& item : listed.items) {
    Pod const pod = read_pod(item);
    Json row = ask(api, pod);
    std::string const problem = text(member(row, "problem"));
    all_answered = all_answered && problem.empty();
    row["pod"] = pod.name;
    row["pod_ready"] = pod.is_ready;
    row["ending"] = pod.is_ending;
    rows.push_back({pod.name, pod.is_ready ? "yes" : "no", pod.is_ending ? "yes" : "no",
                    problem.empty() ? cell(member(row, "phase")) : "?",
                    cell(member(row, "in_flight")), seconds_of(member(row, "cut_in_ms")),
                    seconds_of(member(row, "deadline_in_ms"))});
    if (!problem.empty()) {
      err << "lastcall rollout status: " << pod.name << ": " << visible(problem) << '\n';
    }
    all.push_back(std::move(row));
  }
  if (json) {
    out << json::dump(Json{{"pods", std::move(all)}}) << '\n';
  } else {
    print_table(rows, out);
  }
  return all_answered ? cli::kExitSuccess : 1;
}

}  // namespace lastcall::kube
