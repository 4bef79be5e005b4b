// The work with a Kubernetes API server, one blocking step after the other.
//
// Thread rule: the thread of the registry's jobs. Invariants and source: kubernetes_registry.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "discovery/http_client.hpp"
#include "discovery/kubernetes_registry.hpp"
#include "discovery/kubernetes_wire.hpp"
#include "discovery/slice_client.hpp"

namespace lastcall::discovery {

class KubernetesSession {
 public:
  explicit KubernetesSession(KubernetesSettings settings)
      : settings_(std::move(settings)),
        slices_({settings_.api_server, settings_.token_file}, settings_.pod.space,
                settings_.services) {}

  // Each returns why it failed, or an empty text.
  std::string enter(HttpClient& client, TimePoint deadline) {
    slices_.try_again();
    return patch(client, deadline, true);
  }
  std::string leave(HttpClient& client, TimePoint deadline);
  /// Leaving failed in a way that is expensive for both sides and will not change soon.
  bool is_hopeless() const { return slices_.is_too_long(); }
  /// The right that was missing while leave() succeeded without it; empty if there is none.
  std::string take_note() { return std::exchange(note_, {}); }
  /// Nothing if the pod is not being deleted, or cannot be read.
  std::optional<std::chrono::seconds> deletion_grace(HttpClient& client, TimePoint deadline) const;
  std::string write_cost(HttpClient& client, TimePoint deadline, std::uint64_t cost);
  std::string post_event(HttpClient& client, TimePoint deadline, KubernetesSummary const& summary);

 private:
  struct Changed {
    std::string failed{};  // why not, or empty
    int status = 0;        // of the answer, if there was one
  };
  Changed change(HttpClient& client, TimePoint deadline, HttpRequest request) const;
  bool is_gone(HttpClient& client, TimePoint deadline, int refusal) const;
  std::vector<HttpRequest> patches(bool serving) const;
  std::string patch(HttpClient& client, TimePoint deadline, bool serving);

  KubernetesSettings const settings_;
  SliceClient slices_;
  std::string note_;
};

}  // namespace lastcall::discovery
