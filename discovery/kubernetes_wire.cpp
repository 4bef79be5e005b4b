#include "discovery/kubernetes_wire.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "base/json_member.hpp"
#include "base/percent.hpp"

namespace lastcall::discovery::kubernetes {

namespace {

using json::dump;
using json::member;
using json::text;
using Json = nlohmann::ordered_json;

/// The API's limit for the message of an Event.
constexpr std::size_t kLongestMessage = 1024;

/// Metadata that makes the API server refuse a patch if another pod has this name.
Json metadata_of(Pod const& pod) {
  return pod.uid.empty() ? Json::object() : Json{{"uid", pod.uid}};
}

bool is_ready(SliceEndpoint const& endpoint, Pod const& pod) {
  bool const is_known_by_name = pod.uid.empty() || endpoint.pod_uid.empty();
  bool const is_ours =
      is_known_by_name ? endpoint.pod_name == pod.name : endpoint.pod_uid == pod.uid;
  return is_ours && endpoint.ready;
}

}  // namespace

std::string pod_path(Pod const& pod, std::string_view part) {
  return "/api/v1/namespaces/" + pod.space + "/pods/" + pod.name + std::string(part);
}

std::string events_path(Pod const& pod) {
  return "/api/v1/namespaces/" + pod.space + "/events";
}

std::string slices_path(std::string_view space, std::string_view version,
                        std::vector<std::string> const& services) {
  std::string path = "/apis/discovery.k8s.io/" + std::string(version) + "/namespaces/" +
                     std::string(space) + "/endpointslices";
  if (!services.empty()) {
    path += "?labelSelector=kubernetes.io%2Fservice-name%20in%20%28";
    for (auto const& service : services) {
      path += service + (&service == &services.back() ? "%29" : "%2C");
    }
  }
  return path;
}

std::string page_suffix(std::string_view slices, int most, std::string_view from) {
  char const first = slices.find('?') == std::string_view::npos ? '?' : '&';
  std::string suffix = first + std::string("limit=") + std::to_string(most);
  return from.empty() ? suffix
                      : suffix + "&continue=" + percent_encoded(from, ascii::is_letter_or_digit);
}

std::string watch_suffix(std::string_view slices, std::string_view resource_version, long seconds) {
  char const first = slices.find('?') == std::string_view::npos ? '?' : '&';
  return first + std::string("watch=1&resourceVersion=") + std::string(resource_version) +
         "&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(seconds);
}

std::string condition_patch(Pod const& pod, std::string_view type, bool value,
                            std::string_view now) {
  return dump(
      Json{{"metadata", metadata_of(pod)},
           {"status",
            {{"conditions", Json::array({{{"type", type},
                                          {"status", value ? "True" : "False"},
                                          {"lastTransitionTime", now},
                                          {"reason", value ? "Serving" : "Deregistered"}}})}}}});
}

std::string label_patch(Pod const& pod, std::string_view key, bool value) {
  auto metadata = metadata_of(pod);
  metadata["labels"][std::string(key)] = value ? Json("true") : Json();
  return dump(Json{{"metadata", std::move(metadata)}});
}

std::string cost_patch(Pod const& pod, std::uint64_t cost) {
  auto metadata = metadata_of(pod);
  metadata["annotations"]["controller.kubernetes.io/pod-deletion-cost"] = std::to_string(cost);
  return dump(Json{{"metadata", std::move(metadata)}});
}

std::string event_body(Pod const& pod, bool is_warning, std::string_view message,
                       std::string_view now, std::string_view reason) {
  Json involved{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"namespace", pod.space}, {"name", pod.name}};
  if (!pod.uid.empty()) {
    involved["uid"] = pod.uid;
  }
  return dump(
      Json{{"apiVersion", "v1"},
           {"kind", "Event"},
           {"metadata", {{"generateName", pod.name + ".lastcall."}, {"namespace", pod.space}}},
           {"involvedObject", std::move(involved)},
           {"reason", !reason.empty() ? reason
                      : is_warning    ? "DrainIncomplete"
                                      : "Drained"},
           {"message", message.substr(0, kLongestMessage)},
           {"type", is_warning ? "Warning" : "Normal"},
           {"firstTimestamp", now},
           {"lastTimestamp", now},
           {"count", 1},
           {"source", {{"component", "lastcall"}}},
           {"reportingComponent", "lastcall.dev/lastcall"},
           {"reportingInstance", pod.name}});
}

std::optional<std::chrono::seconds> deletion_grace(Pod const& pod, std::string_view body) {
  // A month is more than any pod's grace; the limit keeps the value in milliseconds in range.
  constexpr std::uint64_t kLongest = 31ULL * 24 * 3600;
  auto const json = json::parsed<Json>(body);
  auto const& metadata = member(json, "metadata");
  bool const is_deleted = !text(member(metadata, "deletionTimestamp")).empty() &&
                          (pod.uid.empty() || text(member(metadata, "uid")) == pod.uid);
  auto const& grace = member(metadata, "deletionGracePeriodSeconds");
  if (!is_deleted || !grace.is_number_unsigned()) {
    return std::nullopt;
  }
  return std::chrono::seconds{std::min(grace.get<std::uint64_t>(), kLongest)};
}

bool is_another_pod(Pod const& pod, std::string_view body) {
  auto const json = json::parsed<Json>(body);
  auto const uid = text(member(member(json, "metadata"), "uid"));
  return !pod.uid.empty() && !uid.empty() && uid != pod.uid;
}

std::string refusal_of(int http_status, std::string_view body) {
  auto const message = text(member(json::parsed<Json>(body), "message"));
  auto const status = "HTTP status " + std::to_string(http_status);
  return message.empty() ? status : status + ": " + message;
}

void Slices::found(Slice const& slice) {
  ready_[slice.name] =
      std::any_of(slice.endpoints.begin(), slice.endpoints.end(),
                  [this](SliceEndpoint const& endpoint) { return is_ready(endpoint, pod_); });
}

std::vector<std::string> Slices::ready_in() const {
  std::vector<std::string> names;
  for (auto const& [name, ready] : ready_) {
    if (ready) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace lastcall::discovery::kubernetes
