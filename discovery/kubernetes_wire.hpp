// What is asked of a Kubernetes API server about one pod, and what its answers mean.
//
// Rules:
//  1. An endpoint is this pod by its uid, or by its name where the uid is not known.
//  2. `ready` left out means ready, as the API says.
//  3. Every patch carries the uid: it never touches another pod of the same name.
//
// Pure, no thread rule. Source: discovery.k8s.io/v1 and v1beta1, core/v1.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lastcall::discovery::kubernetes {

struct Pod {
  std::string space;  // its namespace
  std::string name;
  std::string uid;  // empty: not known
};

/// Of the pod itself; `part` is empty or "/status".
std::string pod_path(Pod const& pod, std::string_view part);
std::string events_path(Pod const& pod);
/// All slices of the namespace, or of these services. `version` is "v1" or "v1beta1".
std::string slices_path(Pod const& pod, std::string_view version,
                        std::vector<std::string> const& services);
/// For at most that many of them, from where the last answer ended (empty: from the first).
std::string page_suffix(std::string_view slices, int most, std::string_view from);
/// To follow them from there on.
std::string watch_suffix(std::string_view slices, std::string_view resource_version, long seconds);

/// A strategic merge patch of /status.
std::string condition_patch(Pod const& pod, std::string_view type, bool value,
                            std::string_view now);
/// A merge patch; false removes the label.
std::string label_patch(Pod const& pod, std::string_view key, bool value);
/// `now` as RFC 3339 in UTC.
std::string event_body(Pod const& pod, bool is_warning, std::string_view message,
                       std::string_view now, std::string_view reason = {});
/// Of a pod as the API has it: how long its containers may take to end, where it is being deleted.
std::optional<std::chrono::seconds> deletion_grace(Pod const& pod, std::string_view body);
/// "pods \"a\" is forbidden: ..." of an answer that refuses.
std::string refusal_of(int http_status, std::string_view body);

/// The slices that list this pod as ready, as last heard.
class Slices {
 public:
  explicit Slices(Pod pod) : pod_(std::move(pod)) {}

  /// A list, or its first page: forgets what was heard before. False: it is no list of slices.
  bool take_list(std::string_view body);
  /// A further page.
  bool take_page(std::string_view body);
  /// One line of a watch. False: it cannot be followed any further, list again.
  bool take_change(std::string_view line);

  /// Where the next page begins; empty: there is none.
  std::string const& next_page() const { return next_page_; }
  std::string const& resource_version() const { return resource_version_; }
  /// Names; empty: no slice lists this pod as ready.
  std::vector<std::string> ready_in() const;

 private:
  Pod const pod_;
  std::string resource_version_;
  std::string next_page_;
  std::map<std::string, bool> ready_;  // by name: lists this pod as ready
};

}  // namespace lastcall::discovery::kubernetes
