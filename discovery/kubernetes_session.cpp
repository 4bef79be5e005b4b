#include "discovery/kubernetes_session.hpp"

#include <utility>

#include "base/calendar.hpp"

namespace lastcall::discovery {

std::string KubernetesSession::change(HttpClient& client, TimePoint deadline,
                                      HttpRequest request) const {
  std::string const what = request.method + " " + request.path;
  auto const reply = slices_.ask(client, deadline, std::move(request));
  if (reply.status == 0) {
    return reply.error;
  }
  return reply.status >= 200 && reply.status < 300
             ? std::string{}
             : what + ": " + kubernetes::refusal_of(reply.status, reply.body);
}

std::string KubernetesSession::patch(HttpClient& client, TimePoint deadline, bool serving) const {
  auto const& pod = settings_.pod;
  std::string failed;
  if (!settings_.readiness_gate.empty()) {
    failed = change(client, deadline,
                    {.method = "PATCH",
                     .path = kubernetes::pod_path(pod, "/status"),
                     .headers = {{"Content-Type", "application/strategic-merge-patch+json"}},
                     .body = kubernetes::condition_patch(pod, settings_.readiness_gate, serving,
                                                         utc_now(Fraction::none))});
  }
  if (!settings_.serving_label.empty()) {
    auto other = change(client, deadline,
                        {.method = "PATCH",
                         .path = kubernetes::pod_path(pod, ""),
                         .headers = {{"Content-Type", "application/merge-patch+json"}},
                         .body = kubernetes::label_patch(pod, settings_.serving_label, serving)});
    failed = failed.empty() ? std::move(other) : failed;
  }
  return failed;
}

std::string KubernetesSession::leave(HttpClient& client, TimePoint deadline) {
  if (auto failed = patch(client, deadline, false); !failed.empty()) {
    return failed;
  }
  kubernetes::Slices slices(settings_.pod);
  if (auto failed = slices_.list(client, deadline, slices); !failed.empty()) {
    return failed;
  }
  if (!slices.ready_in().empty()) {
    // The result does not matter: the slices show the state that was reached.
    static_cast<void>(slices_.watch(client, {deadline, deadline}, slices,
                                    [&slices] { return !slices.ready_in().empty(); }));
  }
  auto const names = slices.ready_in();
  return names.empty() ? "" : "EndpointSlice " + names.front() + " still lists this pod as ready";
}

std::optional<std::chrono::seconds> KubernetesSession::deletion_grace(HttpClient& client,
                                                                      TimePoint deadline) const {
  auto const reply = slices_.ask(
      client, deadline, {.method = "GET", .path = kubernetes::pod_path(settings_.pod, "")});
  return reply.status == 200 ? kubernetes::deletion_grace(settings_.pod, reply.body) : std::nullopt;
}

std::string KubernetesSession::write_cost(HttpClient& client, TimePoint deadline,
                                          std::uint64_t cost) {
  return change(client, deadline,
                {.method = "PATCH",
                 .path = kubernetes::pod_path(settings_.pod, ""),
                 .headers = {{"Content-Type", "application/merge-patch+json"}},
                 .body = kubernetes::cost_patch(settings_.pod, cost)});
}

std::string KubernetesSession::post_event(HttpClient& client, TimePoint deadline,
                                          KubernetesSummary const& summary) {
  return change(client, deadline,
                {.path = kubernetes::events_path(settings_.pod),
                 .headers = {},
                 .body = kubernetes::event_body(settings_.pod, summary.is_warning, summary.text,
                                                utc_now(Fraction::none), summary.reason)});
}

}  // namespace lastcall::discovery
