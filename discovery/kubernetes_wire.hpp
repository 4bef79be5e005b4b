// The requests to a Kubernetes API server about one pod, and the meaning of its answers.
//
// Rules:
//  1. An endpoint is recognised as this pod by its uid, or by its name if the uid is not known.
//  2. Every patch contains the uid, so it never changes another pod of the same name.
//
// Pure, no thread rule. Source: discovery.k8s.io/v1 and v1beta1, core/v1.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "discovery/kubernetes_slices.hpp"

namespace lastcall::discovery::kubernetes {

struct Pod {
  std::string space;  // its namespace
  std::string name;
  std::string uid;  // empty: not known
};

/// The path of the pod itself; `part` is empty or "/status".
std::string pod_path(Pod const& pod, std::string_view part);
std::string events_path(Pod const& pod);
/// All slices of the namespace, or of these services. `version` is "v1" or "v1beta1".
std::string slices_path(std::string_view space, std::string_view version,
                        std::vector<std::string> const& services);
/// The path of a page of at most `most` slices, from where the last answer ended (empty: the
/// first).
std::string page_suffix(std::string_view slices, int most, std::string_view from);
/// The path of a watch from that version on.
std::string watch_suffix(std::string_view slices, std::string_view resource_version, long seconds);

/// A strategic merge patch of /status.
std::string condition_patch(Pod const& pod, std::string_view type, bool value,
                            std::string_view now);
/// A merge patch; false removes the label.
std::string label_patch(Pod const& pod, std::string_view key, bool value);
/// A merge patch of the annotation `controller.kubernetes.io/pod-deletion-cost`.
std::string cost_patch(Pod const& pod, std::uint64_t cost);
/// `now` as RFC 3339 in UTC.
std::string event_body(Pod const& pod, bool is_warning, std::string_view message,
                       std::string_view now, std::string_view reason = {});
/// The grace period of a pod that is being deleted, from the API's `body`; nothing if it is not.
std::optional<std::chrono::seconds> deletion_grace(Pod const& pod, std::string_view body);
/// Whether the API's `body` is a pod with another uid.
bool is_another_pod(Pod const& pod, std::string_view body);
/// "pods \"a\" is forbidden: ...": the message of an answer that refuses.
std::string refusal_of(int http_status, std::string_view body);

/// The slices that list this pod as ready, as last received.
class Slices final : public SliceReader {
 public:
  explicit Slices(Pod pod) : pod_(std::move(pod)) {}

  /// The names of those slices; empty if no slice lists this pod as ready.
  std::vector<std::string> ready_in() const;

 private:
  void forget_all() override { ready_.clear(); }
  void found(Slice const& slice) override;
  void gone(std::string const& name) override { ready_[name] = false; }

  Pod const pod_;
  std::map<std::string, bool> ready_;  // by name: lists this pod as ready
};

}  // namespace lastcall::discovery::kubernetes
