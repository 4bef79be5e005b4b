// What is done with a Kubernetes API server, one blocking step after the other.
//
// Thread rule: the thread of the registry's jobs. Invariants and source: kubernetes_registry.hpp.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "discovery/http_client.hpp"
#include "discovery/kubernetes_registry.hpp"
#include "discovery/kubernetes_wire.hpp"

namespace lastcall::discovery {

class KubernetesSession {
 public:
  explicit KubernetesSession(KubernetesSettings settings) : settings_(std::move(settings)) {}

  // Each returns why it failed, or an empty text.
  std::string enter(HttpClient& client, TimePoint deadline) {
    is_too_long_ = false;
    return patch(client, deadline, true);
  }
  std::string leave(HttpClient& client, TimePoint deadline);
  /// Leaving failed in a way that costs both sides much and will not be better soon.
  bool is_hopeless() const { return is_too_long_; }
  /// Nothing, too, where that cannot be read.
  std::optional<std::chrono::seconds> deletion_grace(HttpClient& client, TimePoint deadline) const;
  std::string post_event(HttpClient& client, TimePoint deadline, KubernetesSummary const& summary);

 private:
  HttpReply ask(HttpClient& client, TimePoint deadline, HttpRequest request) const;
  std::string change(HttpClient& client, TimePoint deadline, HttpRequest request) const;
  std::string patch(HttpClient& client, TimePoint deadline, bool serving) const;
  HttpReply ask_for_page(HttpClient& client, TimePoint deadline, std::string const& from);
  std::string list(HttpClient& client, TimePoint deadline, kubernetes::Slices& slices);
  void watch(HttpClient& client, TimePoint deadline, kubernetes::Slices& slices) const;
  std::string slices_path() const;

  KubernetesSettings const settings_;
  int page_ = 50;             // slices; less where they are so long that an answer is not taken
  bool is_too_long_ = false;  // the last list, even one by one
  bool is_beta_ = false;      // the server has discovery.k8s.io/v1beta1 only
};

}  // namespace lastcall::discovery
