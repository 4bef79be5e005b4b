// The known facts about each engine, and the profile that results for a configuration.
//
// Rules:
//  1. A preset only fills what the configuration leaves open; a set key always wins.
//  2. Each fact names its source in presets.cpp.
//  3. `custom` knows nothing: no gauges, and no check but the process and, where engine.url or an
//     ingress gives the engine's address, a connection.
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
  bool running_is_accepted = false;  // that gauge counts a request from its acceptance on
  std::string_view kv_usage_gauge;
  std::string_view rank_label = {};   // of its gauges: the data-parallel rank; empty: it has one
  std::string_view rank_header = {};  // sends a request to one; empty: there is no way
  bool refuses_no_rank = false;       // with 400, where that header holds no number
  std::string_view load_path;         // of its load counter; empty: none is known
  std::string_view completions_path;  // where one token may be asked for; empty: none is known
  /// Paths that show whether it sleeps or is paused, and the answer's member that is true then.
  std::vector<std::pair<std::string_view, std::string_view>> at_rest_paths = {};
  /// The paths of its server that change the engine, and those that only report on it, as the keys
  /// of ingress.control_paths.paths.
  std::vector<std::string_view> control_paths;
  std::vector<std::string_view> status_paths;
  /// Those by which it is put to rest, and by which it is ordered to go on; all change it, too.
  std::vector<std::string_view> rest_paths = {};
  std::vector<std::string_view> wake_paths = {};
  Duration gauge_refresh{1'000};
  std::string_view stop_signal = "SIGTERM";
  /// Asked to end it ends its workers first: those that outlive it are not given time.
  bool main_ends_workers = false;
  /// Processes without which it is dead, as they call themselves; a last '*' stands for any end.
  std::vector<std::string> essential_processes;
  /// The files that it leaves behind when it is killed: a proposal for cleanup.paths, never a
  /// default, since a shared directory may hold the same names of another process.
  std::string_view leftovers;
  std::uint32_t failure_threshold = 2;
  /// With 503 vLLM's and TensorRT-LLM's /health report that the engine is gone; 500 is what their
  /// frameworks answer for a handler that threw, and TensorRT-LLM's /health_generate.
  std::vector<std::uint32_t> dead_statuses{500, 503};
};

EnginePreset const& preset_of(EngineKind kind);

/// Gauges of the engine itself: running + waiting is its in-flight.
struct EngineGauges {
  std::string url;
  std::string running;
  std::string waiting;
  std::string tokens;  // empty: none is known
  bool tokens_are_live = false;
  std::string kv_usage;  // empty: none is known
  Duration refresh{};
  std::string load_url;      // of its load counter; empty: none is known
  bool load_counts = false;  // ... and it is known to count
  std::string rank_label = {};
  bool running_is_load = false;  // `running` is a load counter itself
  friend bool operator==(EngineGauges const&, EngineGauges const&) = default;
};

/// Where an engine shows that it takes no request now.
struct AtRest {
  std::string url;
  std::string member;  // of the object that it answers with
  friend bool operator==(AtRest const&, AtRest const&) = default;
};

/// Where and how one token is asked for.
struct TokenProbe {
  std::string url;
  std::string models_url;
  std::vector<AtRest> at_rest;  // empty: it never sleeps, or cannot show it
  std::string model;            // empty: the first that the engine lists
  bool barrier = false;
  bool canary = false;
  std::string rank_header = {};  // empty: no rank can be chosen
  /// An engine that knows the header answers 400 where it holds no number; older ones ignore it.
  bool refuses_no_rank = false;
  friend bool operator==(TokenProbe const&, TokenProbe const&) = default;
};

/// The preset with everything that the configuration sets on top. Nothing is left open.
struct EngineProfile {
  std::string_view name;
  Address upstream;                 // what the ingress connects to, ...
  std::string upstream_socket;      // ... or, where this is not empty, this
  std::vector<HealthCheck> checks;  // each with its failure_threshold filled in
  std::vector<std::uint32_t> dead_statuses;
  std::string stop_signal;
  Duration rest_grace{10'000};
  bool main_ends_workers = false;
  std::vector<std::string> essential_processes;
  std::string metrics_url;             // of its Prometheus text; empty: none is known
  std::optional<EngineGauges> gauges;  // nothing: in-flight cannot be asked of the engine
  std::optional<TokenProbe> probe;     // nothing: it is never asked for a token
};

EngineProfile resolve_engine(Config const& config);

/// The ingress is on, and the engine's only way in.
bool ingress_is_exclusive(Config const& config);

/// The source of the budgets: the keys, and the items that phase 3 has.
lifecycle::ShutdownSettings shutdown_settings(Config const& config);

/// The URL for routers, from identity.advertise or POD_IP; nothing where neither is
/// known.
std::optional<std::string> resolve_advertise(Config const& config,
                                             std::optional<std::string> const& pod_ip);

}  // namespace lastcall::config
