// The part of the configuration about where this instance is announced: registries and events.
//
// The rules of schema.hpp apply, which includes this file. Pure values, no thread rule.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace lastcall::config {

using Duration = std::chrono::milliseconds;

struct EtcdRegistry {
  std::vector<std::string> endpoints{"http://127.0.0.1:2379"};
  Duration lease_ttl{10'000};  // whole seconds, as etcd counts
  std::optional<std::string> username;
  std::optional<std::string> password_file;  // unset: LASTCALL_ETCD_PASSWORD
  std::optional<std::string> ca_file;
  std::optional<std::string> cert_file;
  std::optional<std::string> key_file;
  friend bool operator==(EtcdRegistry const&, EtcdRegistry const&) = default;
};
struct KubernetesRegistry {
  std::vector<std::string> services;          // empty: every EndpointSlice that lists this pod
  std::optional<std::string> readiness_gate;  // the type of a condition to set on the pod
  std::optional<std::string> serving_label;   // label key, "true" while registered
  bool after_others = false;                  // gate and label wait for the other registries
  std::optional<Duration> deletion_cost;      // updated to the work in flight at this interval
  bool event = false;                         // an Event with the outcome of each stop
  std::optional<std::string> api_server;      // unset: the in-cluster address
  std::string token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  std::string ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  friend bool operator==(KubernetesRegistry const&, KubernetesRegistry const&) = default;
};
struct HttpRegistry {
  std::string url;
  std::optional<std::string> deregister_url;  // unset: `url` too
  std::optional<std::string> body;            // may contain ${...}; unset: the instance as JSON
  std::vector<std::string> headers;           // "Name: value"
  std::optional<std::string> token_file;      // unset: we send no Authorization header
  Duration timeout{2'000};
  std::optional<std::string> ca_file;
  std::optional<std::string> cert_file;
  std::optional<std::string> key_file;
  friend bool operator==(HttpRegistry const&, HttpRegistry const&) = default;
};
struct FileRegistry {
  std::string directory;
  friend bool operator==(FileRegistry const&, FileRegistry const&) = default;
};
/// Asks the process with the SDK to register and deregister itself.
struct IpcRegistry {
  friend bool operator==(IpcRegistry const&, IpcRegistry const&) = default;
};

struct Registry {
  std::string name;  // for logs and reports; if unset, load() fills in the kind's name
  std::variant<EtcdRegistry, KubernetesRegistry, HttpRegistry, FileRegistry, IpcRegistry> kind;
  friend bool operator==(Registry const&, Registry const&) = default;
};

struct NatsEvents {
  std::optional<std::string> url;  // unset: no events
  std::string subject = "lastcall.events";
  std::optional<std::string> username;
  std::optional<std::string> password_file;  // unset: LASTCALL_NATS_PASSWORD
  std::optional<std::string> credentials_file;
  std::optional<std::string> ca_file;
  std::optional<std::string> cert_file;
  std::optional<std::string> key_file;
  friend bool operator==(NatsEvents const&, NatsEvents const&) = default;
};
struct Events {
  NatsEvents nats;
  friend bool operator==(Events const&, Events const&) = default;
};

}  // namespace lastcall::config
