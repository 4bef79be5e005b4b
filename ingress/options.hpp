// What the proxy is told at its start. Values only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ingress/deadlines.hpp"
#include "ingress/networks.hpp"
#include "ingress/socket.hpp"
#include "relay/control_paths.hpp"

namespace lastcall::ingress {

/// An endpoint that the configuration names, by name or (with a leading slash) by path.
struct NamedEndpoint {
  std::string name;
  /// The engine keeps a request whose client has left until its first byte.
  bool defers_cancel = false;
};

/// Who may control the engine through us.
struct Control {
  std::vector<relay::ControlPath> paths;
  std::string token;  // of operators; empty: there is none
};

struct Options {
  std::vector<Endpoint> upstream;  // the engine is at one of them
  Deadlines::Lengths waits{};
  std::size_t max_head = 32 * 1024;       // bytes
  std::optional<std::uint64_t> max_body;  // bytes
  std::size_t max_connections = 10'000;   // of clients
  std::optional<std::uint32_t> max_connections_per_address;
  std::size_t max_buffer_memory = 0;     // bytes of all connections together; 0: no limit
  Networks trusted_proxies;              // whose word about their clients holds
  bool keeps_underscores = false;        // fields whose names have some
  std::string default_model;             // where a request names none
  std::vector<NamedEndpoint> endpoints;  // paths among them are endpoints of their own
  Control control;
};

}  // namespace lastcall::ingress
