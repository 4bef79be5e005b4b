#include "probes/listener/probe_routes.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"

namespace lastcall::probes {

namespace {

/// One line of a verbose answer.
struct Line {
  std::string name;
  bool ok = false;
  std::string detail;  // why it fails; a passing line may have one, too
};

/// The facts of one answer, read once.
struct Facts {
  ProbeState state;
  Duration since_beat{};
  Duration uptime{};
  Duration stall_after{};

  bool stalled() const { return since_beat >= stall_after; }
};

std::string in_seconds(Duration duration) {
  return std::to_string(duration.count() / 1000) + " s";
}

std::string or_unknown(std::string const& text) {
  return text.empty() ? "unknown" : text;
}

Line loop_line(Facts const& facts) {
  return {"loop", !facts.stalled(),
          facts.stalled() ? "the loop has not moved for " + in_seconds(facts.since_beat) : ""};
}

Line socket_line(ProbeState const& state, bool pending_is_ok) {
  switch (state.socket) {
    case SocketState::bound:
      return {"ipc-socket", true, ""};
    case SocketState::pending:
      return {"ipc-socket", pending_is_ok, "not bound yet"};
    case SocketState::lost:
      return {"ipc-socket", false, state.socket_detail.empty() ? "lost" : state.socket_detail};
  }
  return {"ipc-socket", false, "unknown"};
}

void add_checks(std::vector<Line>& lines, ProbeState const& state) {
  for (auto const& check : state.checks) {
    lines.push_back({"check-" + check.name, check.passed,
                     check.passed ? check.detail : or_unknown(check.detail)});
  }
}

std::vector<Line> livez(Facts const& facts) {
  return {loop_line(facts), socket_line(facts.state, true)};
}

std::vector<Line> startupz(Facts const& facts) {
  return {loop_line(facts), socket_line(facts.state, false)};
}

// Single checks and registries are shown with the verdicts below but do not decide them: thresholds
// and the phase do, and the published state already includes these.
std::vector<Line> engine_livez(Facts const& facts) {
  auto const& state = facts.state;
  return {{"engine", state.engine_alive,
           state.engine_verdict + (state.engine_reason.empty() ? "" : ": " + state.engine_reason)}};
}

std::vector<Line> engine_startupz(Facts const& facts) {
  auto const& state = facts.state;
  return {{"engine", state.engine_started,
           state.engine_started ? state.engine_verdict
                                : "not started: " + (state.engine_reason.empty()
                                                         ? std::string{"a check has not passed yet"}
                                                         : state.engine_reason)}};
}

std::vector<Line> readyz(Facts const& facts) {
  std::vector<Line> lines{loop_line(facts), {"ready", facts.state.ready, facts.state.ready_reason}};
  if (!facts.state.shim_missing.empty()) {
    lines.push_back({"shim", true, "warning: " + facts.state.shim_missing});
  }
  if (facts.state.busy) {
    lines.push_back(
        {"load", true, "busy: all ranks are above a threshold, new requests are refused"});
  }
  return lines;
}

struct Route {
  std::string_view path;
  std::vector<Line> (*decide)(Facts const&);
  bool about_engine;  // a verbose answer shows the engine's checks, too
};

constexpr std::array kRoutes{
    Route{"/livez", livez, false},
    Route{"/startupz", startupz, false},
    Route{"/engine/livez", engine_livez, true},
    Route{"/engine/startupz", engine_startupz, true},
    Route{"/readyz", readyz, true},
};

void append(std::string& body, Line const& line) {
  body += line.ok ? "[+]" : "[-]";
  body += line.name;
  body += line.ok ? " ok" : " failed: " + line.detail;
  if (line.ok && !line.detail.empty()) {
    body += ": " + line.detail;
  }
  body += '\n';
}

/// In the form of the Kubernetes API server: `ok`, or a list and a last line.
Reply in_lines(std::string_view path, std::vector<Line> const& deciding,
               std::vector<Line> const& shown, bool verbose) {
  bool passed = true;
  for (auto const& line : deciding) {
    passed = passed && line.ok;
  }
  Reply reply{.status = passed ? 200 : 503};
  if (passed && !verbose) {
    reply.body = "ok\n";
    return reply;
  }
  for (auto const& line : deciding) {
    append(reply.body, line);
  }
  for (auto const& line : shown) {
    append(reply.body, line);
  }
  reply.body += std::string(path.substr(1)) + " check " + (passed ? "passed" : "failed") + "\n";
  return reply;
}

std::vector<Line> shown_lines(ProbeState const& state) {
  std::vector<Line> lines;
  add_checks(lines, state);
  for (auto const& registry : state.registries) {
    lines.push_back({"registry-" + registry.name, registry.settled,
                     registry.state + (registry.detail.empty() ? "" : ": " + registry.detail)});
  }
  lines.push_back({"phase", true, state.phase});
  return lines;
}

nlohmann::ordered_json dynamo_json(Facts const& facts, std::string_view status) {
  auto const nanos = std::chrono::nanoseconds(facts.uptime).count();
  nlohmann::ordered_json endpoints = nlohmann::ordered_json::object();
  for (auto const& endpoint : facts.state.endpoints) {
    endpoints[endpoint.name] = endpoint.ready ? "ready" : "notready";
  }
  return {{"status", status},
          {"uptime", {{"secs", nanos / 1'000'000'000}, {"nanos", nanos % 1'000'000'000}}},
          {"endpoints", std::move(endpoints)}};
}

Reply as_json(nlohmann::ordered_json const& body, bool passed) {
  return json_reply(passed ? 200 : 503, json::dump(body));
}

Reply dynamo_health(Facts const& facts) {
  bool const ready = facts.state.ready && !facts.stalled();
  auto body = dynamo_json(facts, ready ? "ready" : "notready");
  if (!ready) {
    body["message"] = facts.stalled() ? loop_line(facts).detail : facts.state.ready_reason;
  }
  return as_json(body, ready);
}

Reply dynamo_live(Facts const& facts) {
  bool const live = !facts.stalled();
  auto body = dynamo_json(facts, live ? "live" : "notlive");
  body["message"] = live ? "Service is live" : loop_line(facts).detail;
  return as_json(body, live);
}

Reply not_found(std::string const& path, bool has_status_page) {
  std::string body = "no such path: " + path + "\nthere are:";
  for (auto const& route : kRoutes) {
    body += " " + std::string(route.path);
  }
  return Reply{.status = 404,
               .body = body + " /health /live /metrics /metrics/engine" +
                       (has_status_page ? " / /status" : "") + "\n"};
}

}  // namespace

ProbeRoutes::ProbeRoutes(PublishedState const& state, std::function<std::string()> metrics,
                         Duration stall_after)
    : state_(state), metrics_(std::move(metrics)), stall_after_(stall_after) {}

Reply ProbeRoutes::answer(Request const& request) const {
  Route const* route = nullptr;
  for (auto const& candidate : kRoutes) {
    route = candidate.path == request.path ? &candidate : route;
  }
  bool const is_metrics = request.path == "/metrics";
  bool const is_dynamo = request.path == "/health" || request.path == "/live";
  if (route == nullptr && !is_metrics && !is_dynamo) {
    return not_found(request.path, has_status_page_);
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return Reply{.status = 405,
                 .body = "method " + request.method + " is not allowed here, use GET or HEAD\n",
                 .headers = {{"Allow", "GET, HEAD"}}};
  }
  if (is_metrics) {
    return Reply{.body = metrics_(), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  }
  Facts const facts{state_.read(), state_.since_beat(), state_.uptime(), stall_after_};
  if (is_dynamo) {
    return request.path == "/live" ? dynamo_live(facts) : dynamo_health(facts);
  }
  return in_lines(request.path, route->decide(facts),
                  route->about_engine ? shown_lines(facts.state) : std::vector<Line>{},
                  request.has_query("verbose"));
}

}  // namespace lastcall::probes
