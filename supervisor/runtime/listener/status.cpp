#include "supervisor/runtime/listener/status.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "core/shapes.hpp"
#include "supervisor/runtime/listener/stop_plan.hpp"
#include "supervisor/runtime/sessions/admission_control.hpp"

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;
using lifecycle::Instant;
using lifecycle::name;
using lifecycle::to_ms;

/// The answer is one line of the protocol, so names that others chose are cut before the line
/// becomes too long.
constexpr std::size_t kMostRows = 64;
constexpr std::size_t kMostText = 512;

std::string brief(std::string_view text) {
  return std::string(text.substr(text.size() - std::min(text.size(), kMostText)));
}

void put_stop(Json& json, lifecycle::Snapshot const& snapshot, Instant now) {
  if (snapshot.cut_at) {
    json["cut_left_ms"] = to_ms(std::max(*snapshot.cut_at - now, lifecycle::Duration{0}));
  }
  if (!snapshot.stop) {
    return;
  }
  json["cause"] = name(snapshot.stop->cause.kind);
  json["cause_detail"] = brief(snapshot.stop->cause.detail);
  json["mode"] = name(snapshot.stop->mode);
  json["deadline_at_ms"] = to_ms(snapshot.stop->deadline);
  json["deadline_left_ms"] = to_ms(snapshot.stop->deadline - now);
}

void put_prestop(Json& json, lifecycle::Snapshot const& snapshot, Instant now) {
  if (auto const& hook = snapshot.hook) {
    json["prestop"] = {{"waits", hook->waits},
                       {"called_ms", to_ms(now - hook->called_at)},
                       {"deletion", hook->deletion},
                       {"returns_within_ms", hook->waits ? to_ms(hook->limit - now) : 0}};
  }
  if (auto const& replacement = snapshot.replacement) {
    json["replacement"] = {{"for_ms", to_ms(now - replacement->since)},
                           {"condemned", replacement->condemned}};
  }
}

Json in_flight_of(StatusSources const& sources, lifecycle::Snapshot const& snapshot, Instant now) {
  auto const oldest = sources.core.requests().oldest();
  return {{"requests", snapshot.in_flight},
          {"source", name(snapshot.source)},
          {"late", snapshot.late},
          {"oldest_ms", oldest ? to_ms(now - *oldest) : 0},
          {"unconfirmed_cancels", snapshot.unconfirmed_cancels}};
}

Json endpoints_of(StatusSources const& sources) {
  Json list = Json::array();
  sources.core.endpoints().for_each([&](lifecycle::EndpointTracker::Endpoint const& endpoint) {
    if (list.size() == kMostRows) {
      return;
    }
    list.push_back({{"name", endpoint.name},
                    {"graceful_shutdown", endpoint.graceful},
                    {"in_flight", endpoint.in_flight},
                    {"peer", peer_name(sources, endpoint.peer)}});
  });
  return list;
}

Json health_of(StatusSources const& sources, lifecycle::Snapshot const& snapshot) {
  Json checks = Json::array();
  auto const& judged = sources.core.health().rows();
  auto const& rows = sources.health.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    checks.push_back({{"name", rows[i].name},
                      {"state", check_state(rows[i].last)},
                      {"failures", i < judged.size() ? judged[i].failures : 0},
                      {"detail", brief(rows[i].detail)}});
    if (rows[i].last) {
      checks.back()["latency_ms"] = to_ms(rows[i].latency);
    }
  }
  return {{"verdict", name(snapshot.verdict)},
          {"reason", brief(snapshot.verdict_reason)},
          {"checks", std::move(checks)}};
}

Json engine_of(StatusSources const& sources, lifecycle::Snapshot const& snapshot) {
  Json json{{"state", snapshot.shim_known ? name(snapshot.engine) : "unknown"}};
  if (snapshot.shim_known && sources.shim.engine().pid > 0) {
    json["pid"] = sources.shim.engine().pid;
  }
  json["run_mode"] = sources.shim.is_run_mode();
  json["shim_missing"] = sources.shim_watch.is_missing();
  put_shim_and_end(json, sources, snapshot);
  return json;
}

Json registries_of(StatusSources const& sources) {
  Json list = Json::array();
  for (discovery::RegistryStatus const& status : sources.registries.status()) {
    Json row{{"name", status.name},
             {"state", discovery::name(status.state)},
             {"attempts", status.attempts},
             {"took_ms", status.latency.count()}};
    if (!status.last_error.empty()) {
      row["error"] = brief(status.last_error);
    }
    list.push_back(std::move(row));
  }
  return list;
}

Json peers_of(StatusSources const& sources) {
  Json list = Json::array();
  for (SdkPeers::Row const& row : sources.sdks.peers().rows()) {
    if (list.size() == kMostRows) {
      break;
    }
    list.push_back({{"name", row.name},
                    {"sdk", row.sdk},
                    {"critical", row.critical},
                    {"connected", row.connected},
                    {"requests", sources.core.requests().of_peer(row.peer)}});
  }
  return list;
}

/// The last reports of the ranks.
Json load_of(lifecycle::LoadMonitor const& loads, Instant now) {
  Json rows = Json::array();
  for (auto const& [number, rank] : loads.ranks()) {
    Json row{{"dp_rank", number}};
    auto const put = [&row](char const* key, std::optional<std::uint64_t> figure) {
      row[key] = figure ? Json(*figure) : Json();
    };
    put("active_decode_blocks", rank.report.active_decode_blocks);
    put("kv_total_blocks", rank.report.kv_total_blocks);
    put("active_prefill_tokens", rank.report.active_prefill_tokens);
    row["age_ms"] = to_ms(now - rank.at);
    row["above_threshold"] = loads.is_above(rank.report);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string peer_name(StatusSources const& sources, ipc::PeerId peer) {
  if (peer == lifecycle::kIngressPeer) {
    return "ingress";
  }
  ipc::PeerInfo const* const info = sources.server.info(peer);
  return info != nullptr && !info->name.empty() ? info->name : "peer-" + std::to_string(peer);
}

void put_shim_and_end(Json& engine, StatusSources const& sources,
                      lifecycle::Snapshot const& snapshot) {
  engine["shim"] = !snapshot.shim_known      ? "none"
                   : snapshot.shim_connected ? "connected"
                                             : "disconnected";
  if (snapshot.engine != lifecycle::EngineState::exited) {
    return;
  }
  ipc::EngineFacts const& facts = sources.shim.engine();
  if (facts.code) {
    engine["code"] = *facts.code;
  }
  if (facts.signal) {
    engine["signal"] = *facts.signal;
  }
}

std::string_view check_state(std::optional<lifecycle::CheckVerdict> last) {
  return last ? lifecycle::name(*last) : "not_run";
}

std::string status_json(StatusSources const& sources, Instant now) {
  lifecycle::Snapshot const snapshot = sources.core.snapshot();
  Readiness const readiness = sources.readiness();
  Json json{{"version", LASTCALL_VERSION},
            {"phase", name(snapshot.phase)},
            {"phase_for_ms", to_ms(now - snapshot.phase_began)}};
  put_stop(json, snapshot, now);
  json["plan"] = plan_of(sources.core, snapshot, now);
  put_prestop(json, snapshot, now);
  json["ready"] = readiness.is_ready;
  json["ready_reason"] = readiness.reason;
  json["in_flight"] = in_flight_of(sources, snapshot, now);
  json["admission"] = admission_json(snapshot.admission);
  json["load"] = load_of(sources.core.loads(), now);
  json["endpoints"] = endpoints_of(sources);
  json["health"] = health_of(sources, snapshot);
  json["engine"] = engine_of(sources, snapshot);
  json["registries"] = registries_of(sources);
  json["peers"] = peers_of(sources);
  json["signals_ignored"] = snapshot.ignored_signals;
  json["warnings"] = sources.warnings;
  if (sources.shim_watch.is_missing()) {
    json["warnings"].push_back(sources.shim_watch.warning());
  }
  json["config"] = sources.facts.config_path;
  json["sockets"] = {{"engine", sources.facts.engine_socket},
                     {"admin", sources.facts.admin_socket}};
  json["probes"] = sources.facts.probes_address;
  if (!sources.facts.hooks_address.empty()) {
    json["hooks"] = sources.facts.hooks_address;
  }
  if (!sources.facts.ingress_address.empty()) {
    json["ingress"] = sources.facts.ingress_address;
  }
  return json::dump(json);
}

}  // namespace lastcall::runtime
