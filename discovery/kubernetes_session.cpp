#include "discovery/kubernetes_session.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "discovery/calendar.hpp"
#include "discovery/secret_file.hpp"

namespace lastcall::discovery {

HttpReply KubernetesSession::ask(HttpClient& client, TimePoint deadline,
                                 HttpRequest request) const {
  auto const token = read_secret(settings_.token_file);
  if (!token) {
    return {.error = "cannot read a token from " + settings_.token_file};
  }
  request.headers.emplace_back("Authorization", "Bearer " + *token);
  request.headers.emplace_back("Accept", "application/json");
  return client.send(settings_.api_server, request, deadline);
}

std::string KubernetesSession::change(HttpClient& client, TimePoint deadline,
                                      HttpRequest request) const {
  std::string const what = request.method + " " + request.path;
  auto const reply = ask(client, deadline, std::move(request));
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
                                                         now_as_text())});
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

std::string KubernetesSession::slices_path() const {
  return kubernetes::slices_path(settings_.pod, is_beta_ ? "v1beta1" : "v1", settings_.services);
}

HttpReply KubernetesSession::ask_for_page(HttpClient& client, TimePoint deadline,
                                          std::string const& from) {
  auto const ask_once = [&] {
    auto path = slices_path();
    path += kubernetes::page_suffix(path, page_, from);
    return ask(client, deadline, {.method = "GET", .path = std::move(path)});
  };
  auto reply = ask_once();
  if (reply.status == 404) {
    is_beta_ = !is_beta_;
    reply = ask_once();
  }
  return reply;
}

std::string KubernetesSession::list(HttpClient& client, TimePoint deadline,
                                    kubernetes::Slices& slices) {
  std::string from;
  do {
    auto const reply = ask_for_page(client, deadline, from);
    is_too_long_ = reply.is_too_long;
    if (is_too_long_ && page_ > 1) {
      page_ = std::max(1, page_ / 8);
      from.clear();  // a page's size may not change within one list
      continue;
    }
    if (reply.status == 0) {
      return reply.error;
    }
    if (reply.status != 200) {
      return "GET " + slices_path() + ": " + kubernetes::refusal_of(reply.status, reply.body);
    }
    bool const is_list = from.empty() ? slices.take_list(reply.body) : slices.take_page(reply.body);
    if (!is_list) {
      return "an answer that is no list of EndpointSlices";
    }
    from = slices.next_page();
  } while (is_too_long_ || !from.empty());
  return {};
}

void KubernetesSession::watch(HttpClient& client, TimePoint deadline,
                              kubernetes::Slices& slices) const {
  auto const left =
      std::chrono::ceil<std::chrono::seconds>(deadline - TimePoint::clock::now()).count();
  std::string lines;
  HttpRequest request{.method = "GET", .path = slices_path()};
  request.path += kubernetes::watch_suffix(request.path, slices.resource_version(), left);
  request.on_data = [&](std::string_view data) {
    lines += data;
    bool goes_on = lines.size() <= HttpClient::kLongestAnswer;
    for (auto end = lines.find('\n'); goes_on && end != std::string::npos; end = lines.find('\n')) {
      goes_on =
          slices.take_change(std::string_view(lines).substr(0, end)) && !slices.ready_in().empty();
      lines.erase(0, end + 1);
    }
    return goes_on;
  };
  // However it ended, the slices tell how far it came.
  static_cast<void>(ask(client, deadline, std::move(request)));
}

std::string KubernetesSession::leave(HttpClient& client, TimePoint deadline) {
  if (auto failed = patch(client, deadline, false); !failed.empty()) {
    return failed;
  }
  kubernetes::Slices slices(settings_.pod);
  if (auto failed = list(client, deadline, slices); !failed.empty()) {
    return failed;
  }
  if (!slices.ready_in().empty()) {
    watch(client, deadline, slices);
  }
  auto const names = slices.ready_in();
  return names.empty() ? "" : "EndpointSlice " + names.front() + " still lists this pod as ready";
}

std::optional<std::chrono::seconds> KubernetesSession::deletion_grace(HttpClient& client,
                                                                      TimePoint deadline) const {
  auto const reply =
      ask(client, deadline, {.method = "GET", .path = kubernetes::pod_path(settings_.pod, "")});
  return reply.status == 200 ? kubernetes::deletion_grace(settings_.pod, reply.body) : std::nullopt;
}

std::string KubernetesSession::post_event(HttpClient& client, TimePoint deadline,
                                          KubernetesSummary const& summary) {
  return change(client, deadline,
                {.path = kubernetes::events_path(settings_.pod),
                 .headers = {},
                 .body = kubernetes::event_body(settings_.pod, summary.is_warning, summary.text,
                                                now_as_text(), summary.reason)});
}

}  // namespace lastcall::discovery
