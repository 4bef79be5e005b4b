// The known facts about each engine, and the profile that results for a configuration.
//
// Rules:
//  1. A preset only fills in what the configuration leaves open; a key that is set always wins.
//  2. Each fact has its source in presets.cpp.
//  3. `custom` knows nothing: it has no gauges, and checks only the process and, if engine.url or
//     an ingress gives the engine's address, a connection.
//
// Pure values, no thread rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema.hpp"

namespace lastcall::config {

struct EnginePreset {
  EngineKind kind = EngineKind::custom;
  std::string_view name;          // as in the configuration
  Address address;                // where its HTTP server listens by default
  std::string_view health_path;   // empty: none is known
  std::string_view metrics_path;  // empty: none is known
  std::string_view running_gauge;
  std::string_view waiting_gauge;
  std::string_view tokens_counter;
  bool tokens_are_live = false;      // the counter rises with each token, not at a request's end
  bool running_is_accepted = false;  // running_gauge counts a request from its acceptance on
  std::string_view kv_usage_gauge;
  std::string_view rank_label = {};   // its gauges' label with the data-parallel rank; empty: none
  std::string_view rank_header = {};  // sends a request to a rank; empty: none can be chosen
  bool refuses_no_rank = false;       // it answers 400 if that header is not a number
  std::string_view load_path;         // its load counter; empty: none is known
  std::string_view completions_path;  // for requests of one token; empty: none is known
  /// The paths that show whether it sleeps or is paused, and the answer's member that is then true.
  std::vector<std::pair<std::string_view, std::string_view>> at_rest_paths = {};
  /// The paths of its server that change the engine, and those that only report on it, in the form
  /// of the keys in ingress.control_paths.paths.
  std::vector<std::string_view> control_paths;
  std::vector<std::string_view> status_paths;
  /// The paths that put it to rest, and those that wake it; all of them are control paths, too.
  std::vector<std::string_view> rest_paths = {};
  std::vector<std::string_view> wake_paths = {};
  Duration gauge_refresh{1'000};
  std::string_view stop_signal = "SIGTERM";
  /// On its stop signal it ends its workers first, so workers that outlive it get no extra time.
  bool main_ends_workers = false;
  /// The titles of the processes without which it is dead; a '*' at the end matches any suffix.
  std::vector<std::string> essential_processes;
  std::uint32_t failure_threshold = 2;
  /// The /health of vLLM and of TensorRT-LLM answers 503 when the engine is gone; 500 is the answer
  /// of their frameworks when a handler threw, and of TensorRT-LLM's /health_generate.
  std::vector<std::uint32_t> dead_statuses{500, 503};
};

EnginePreset const& preset_of(EngineKind kind);

/// The gauges of the engine itself: running + waiting is its number of requests in flight.
struct EngineGauges {
  std::string url;
  std::string running;
  std::string waiting;
  std::string tokens;  // empty: none is known
  bool tokens_are_live = false;
  std::string kv_usage;  // empty: none is known
  Duration refresh{};
  std::string load_url;      // its load counter; empty: none is known
  bool load_counts = false;  // the load counter is known to count
  std::string rank_label = {};
  bool running_is_load = false;  // `running` is a load counter itself
  friend bool operator==(EngineGauges const&, EngineGauges const&) = default;
};

/// A URL where an engine shows that it currently takes no requests.
struct AtRest {
  std::string url;
  std::string member;  // the member of its answer, true while it takes none
  friend bool operator==(AtRest const&, AtRest const&) = default;
};

/// Where and how to request one token.
struct TokenProbe {
  std::string url;
  std::string models_url;
  std::vector<AtRest> at_rest;  // empty: it never sleeps, or does not show it
  std::string model;            // empty: the first that the engine lists
  bool barrier = false;
  bool canary = false;
  std::string rank_header = {};  // empty: no rank can be chosen
  /// An engine that knows the header answers 400 if it is not a number; older ones ignore it.
  bool refuses_no_rank = false;
  friend bool operator==(TokenProbe const&, TokenProbe const&) = default;
};

/// The preset with the configuration's settings applied on top of it. Nothing is left open.
struct EngineProfile {
  std::string_view name;
  Address upstream;                 // the ingress connects to it if upstream_socket is empty
  std::string upstream_socket;      // otherwise it connects to this socket
  std::vector<HealthCheck> checks;  // each with its failure_threshold filled in
  std::vector<std::uint32_t> dead_statuses;
  std::string stop_signal;
  Duration rest_grace{10'000};
  bool main_ends_workers = false;
  std::vector<std::string> essential_processes;
  std::string metrics_url;             // its Prometheus text; empty: none is known
  std::optional<EngineGauges> gauges;  // unset: the engine does not show what is in flight
  std::optional<TokenProbe> probe;     // unset: the engine is never asked for a token
};

EngineProfile resolve_engine(Config const& config);

/// Whether the ingress is enabled and is the only way to the engine.
bool ingress_is_exclusive(Config const& config);

/// The settings from which the budgets are computed: the keys, and the items of phase 3.
lifecycle::ShutdownSettings shutdown_settings(Config const& config);

/// The URL for routers, from identity.advertise or POD_IP; nothing if neither is known.
std::optional<std::string> resolve_advertise(Config const& config,
                                             std::optional<std::string> const& pod_ip);

}  // namespace lastcall::config
