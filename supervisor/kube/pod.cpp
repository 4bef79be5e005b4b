#include "supervisor/kube/pod.hpp"

#include <optional>
#include <utility>

namespace lastcall::kube {
namespace {

using json::member;
using json::text;

constexpr char const* kSidecar = "lastcall";

/// The reports of the engine's containers, or of the sidecar.
struct Reports {
  std::vector<StopReport> final;
  std::vector<StopReport> earlier;
};

void add(std::vector<StopReport>& to, Json const& state) {
  if (auto report = read_report(text(member(member(state, "terminated"), "message")))) {
    to.push_back(std::move(*report));
  }
}

void look_at(Json const& status, Pod& pod, Reports& engines, Reports& sidecar) {
  Json const& state = member(status, "state");
  bool const is_sidecar = text(member(status, "name")) == kSidecar;
  Reports& reports = is_sidecar ? sidecar : engines;
  add(reports.final, state);
  add(reports.earlier, member(status, "lastState"));
  pod.has_run = pod.has_run || (!is_sidecar && (!member(state, "running").is_null() ||
                                                !member(state, "terminated").is_null() ||
                                                !member(status, "lastState").empty()));
}

void read_port(Json const& container, Pod& pod) {
  if (text(member(container, "name")) != kSidecar) {
    return;
  }
  for (Json const& port : member(container, "ports")) {
    Json const& number = member(port, "containerPort");
    if (text(member(port, "name")) == kSidecar && number.is_number_unsigned()) {
      pod.port = std::to_string(number.get<unsigned>());
    }
  }
}

}  // namespace

Pod read_pod(Json const& json) {
  Json const& metadata = member(json, "metadata");
  Json const& status = member(json, "status");
  Pod pod;
  pod.name = text(member(metadata, "name"));
  pod.uid = text(member(metadata, "uid"));
  pod.ip = text(member(status, "podIP"));
  pod.is_ending = !text(member(metadata, "deletionTimestamp")).empty();
  for (Json const& condition : member(status, "conditions")) {
    pod.is_ready = pod.is_ready || (text(member(condition, "type")) == "Ready" &&
                                    text(member(condition, "status")) == "True");
  }
  Reports engines;
  Reports sidecar;
  // A native sidecar is one of the init containers; the others have no requests.
  for (Json const& each : member(status, "initContainerStatuses")) {
    if (text(member(each, "name")) == kSidecar) {
      look_at(each, pod, engines, sidecar);
    }
  }
  for (Json const& each : member(status, "containerStatuses")) {
    look_at(each, pod, engines, sidecar);
  }
  // Both report the same stops; the engine's container is closer to them.
  pod.final_reports = std::move(engines.final.empty() ? sidecar.final : engines.final);
  pod.earlier_reports = std::move(engines.earlier.empty() ? sidecar.earlier : engines.earlier);
  for (char const* const kind : {"initContainers", "containers"}) {
    for (Json const& container : member(member(json, "spec"), kind)) {
      read_port(container, pod);
    }
  }
  return pod;
}

}  // namespace lastcall::kube
