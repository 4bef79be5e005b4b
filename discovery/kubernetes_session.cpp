#include "discovery/kubernetes_session.hpp"

#include <utility>

#include "base/calendar.hpp"

namespace lastcall::discovery {
namespace {

constexpr std::chrono::milliseconds kToReport{100};
constexpr int kFound = 200;
constexpr int kForbidden = 403;
constexpr int kNoSuchPod = 404;
constexpr int kConflict = 409;
constexpr int kInvalid = 422;

/// The server's own words, which follow, name the resource and the account.
constexpr char const* kMissingRight =
    "the service account lacks the right to `patch` (rbac.create of the chart gives it): ";

}  // namespace

KubernetesSession::Changed KubernetesSession::change(HttpClient& client, TimePoint deadline,
                                                     HttpRequest request) const {
  std::string const what = request.method + " " + request.path;
  auto const reply = slices_.ask(client, deadline, std::move(request));
  if (reply.status == 0) {
    return {reply.error, 0};
  }
  bool const is_done = reply.status >= 200 && reply.status < 300;
  return {is_done ? std::string{} : what + ": " + kubernetes::refusal_of(reply.status, reply.body),
          reply.status};
}

/// Whether this pod is not there any more, or another one has its name.
bool KubernetesSession::is_gone(HttpClient& client, TimePoint deadline, int refusal) const {
  if (refusal != kConflict && refusal != kInvalid) {
    return refusal == kNoSuchPod;
  }
  auto const reply = slices_.ask(
      client, deadline, {.method = "GET", .path = kubernetes::pod_path(settings_.pod, "")});
  return reply.status == kNoSuchPod ||
         (reply.status == kFound && kubernetes::is_another_pod(settings_.pod, reply.body));
}

std::vector<HttpRequest> KubernetesSession::patches(bool serving) const {
  auto const& pod = settings_.pod;
  std::vector<HttpRequest> all;
  if (!settings_.readiness_gate.empty()) {
    all.push_back({.method = "PATCH",
                   .path = kubernetes::pod_path(pod, "/status"),
                   .headers = {{"Content-Type", "application/strategic-merge-patch+json"}},
                   .body = kubernetes::condition_patch(pod, settings_.readiness_gate, serving,
                                                       utc_now(Fraction::none))});
  }
  if (!settings_.serving_label.empty()) {
    all.push_back({.method = "PATCH",
                   .path = kubernetes::pod_path(pod, ""),
                   .headers = {{"Content-Type", "application/merge-patch+json"}},
                   .body = kubernetes::label_patch(pod, settings_.serving_label, serving)});
  }
  return all;
}

/// Returns the first failure. While leaving, a pod that is gone needs no patch, and a patch that is
/// forbidden is a note: the slices show whether the pod has left without it.
std::string KubernetesSession::patch(HttpClient& client, TimePoint deadline, bool serving) {
  std::string first;
  for (HttpRequest& request : patches(serving)) {
    auto done = change(client, deadline, std::move(request));
    bool const is_left = !done.failed.empty() && !serving && is_gone(client, deadline, done.status);
    if (is_left) {
      note_.clear();
      return {};
    }
    if (!serving && done.status == kForbidden) {
      note_ = note_.empty() ? std::string(kMissingRight) + done.failed : note_;
    } else if (first.empty()) {
      first = std::move(done.failed);
    }
  }
  return first;
}

std::string KubernetesSession::leave(HttpClient& client, TimePoint deadline) {
  note_.clear();
  if (auto failed = patch(client, deadline, false); !failed.empty()) {
    return failed;
  }
  kubernetes::Slices slices(settings_.pod);
  if (auto failed = slices_.list(client, deadline, slices); !failed.empty()) {
    return failed;
  }
  if (!slices.ready_in().empty()) {
    // The result does not matter: the slices show the state that was reached. The watch ends before
    // the deadline, so that it can be reported what is missing.
    TimePoint const until = deadline - kToReport;
    static_cast<void>(slices_.watch(client, {until, until}, slices,
                                    [&slices] { return !slices.ready_in().empty(); }));
  }
  auto const names = slices.ready_in();
  if (names.empty()) {
    return {};
  }
  std::string const still = "EndpointSlice " + names.front() + " still lists this pod as ready";
  return note_.empty() ? still : still + "; " + take_note();
}

std::optional<std::chrono::seconds> KubernetesSession::deletion_grace(HttpClient& client,
                                                                      TimePoint deadline) const {
  auto const reply = slices_.ask(
      client, deadline, {.method = "GET", .path = kubernetes::pod_path(settings_.pod, "")});
  return reply.status == kFound ? kubernetes::deletion_grace(settings_.pod, reply.body)
                                : std::nullopt;
}

std::string KubernetesSession::write_cost(HttpClient& client, TimePoint deadline,
                                          std::uint64_t cost) {
  return change(client, deadline,
                {.method = "PATCH",
                 .path = kubernetes::pod_path(settings_.pod, ""),
                 .headers = {{"Content-Type", "application/merge-patch+json"}},
                 .body = kubernetes::cost_patch(settings_.pod, cost)})
      .failed;
}

std::string KubernetesSession::post_event(HttpClient& client, TimePoint deadline,
                                          KubernetesSummary const& summary) {
  return change(client, deadline,
                {.path = kubernetes::events_path(settings_.pod),
                 .headers = {},
                 .body = kubernetes::event_body(settings_.pod, summary.is_warning, summary.text,
                                                utc_now(Fraction::none), summary.reason)})
      .failed;
}

}  // namespace lastcall::discovery
