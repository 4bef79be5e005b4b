// The settings that the proxy gets at its start. Values only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingress/deadlines.hpp"
#include "ingress/networks.hpp"
#include "ingress/socket.hpp"
#include "relay/control_paths.hpp"
#include "relay/endpoint_name.hpp"

namespace lastcall::config {
struct ProxyTimeouts;
}

namespace lastcall::ingress {

/// The lengths of all waits except `left`, `verdict` and `held`, which a supervisor adds.
Deadlines::Lengths waits_of(config::ProxyTimeouts const& timeouts);

/// An endpoint that the configuration names, by name or (with a leading slash) by path.
struct NamedEndpoint {
  std::string name;
  /// Whether the engine keeps a request without a client until its first byte.
  bool defers_cancel = false;
};

/// The rules about requests that control the engine through the ingress.
struct Control {
  std::vector<relay::ControlPath> paths;
  std::string token;                      // the operators' token; empty if there is none
  std::vector<std::string> certificates;  // names in operators' certificates
};

struct Options {
  std::vector<Endpoint> upstream;  // the engine is at one of them
  Deadlines::Lengths waits{};
  std::size_t max_head = 32 * 1024;       // bytes
  std::optional<std::uint64_t> max_body;  // bytes
  std::size_t max_connections = 10'000;   // of clients
  std::optional<std::uint32_t> max_connections_per_address;
  std::size_t max_buffer_memory = 0;  // bytes of all connections together; 0: no limit
  Networks trusted_proxies;           // their fields about their clients are trusted
  bool keeps_underscores = false;     // whether fields with an underscore in their names are kept
  std::string default_model;          // for a request that names none
  std::vector<NamedEndpoint> endpoints;  // each path among them is an endpoint of its own
  Control control;

  /// The endpoint's name: by the paths of `endpoints` or, if none matches, by the known paths.
  /// `target` is in origin form, with its query; `is_control`: the path controls the engine.
  relay::EndpointName endpoint(std::string_view method, std::string_view target, bool upgrade,
                               bool is_control) const;
  bool defers_cancel(std::string_view endpoint) const;
};

}  // namespace lastcall::ingress
