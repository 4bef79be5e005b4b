// The router's configuration as plain structs, and the functions that read it.
//
// The rules are those of the supervisor's configuration (config/schema.hpp, config/load.hpp): a
// default-constructed value is the default, values are checked before they get here, and all
// problems are reported at once. The file is the one that --config names, otherwise the one that
// LASTCALL_ROUTER_CONFIG names, otherwise kDefaultPath.
//
// The text form of each key, its range and its meaning are in settings_keys.cpp, which also
// generates docs/router-config.md and its JSON Schema.
// Pure values, except for that file; no thread rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/environment.hpp"
#include "config/keys.hpp"
#include "config/load.hpp"
#include "config/problem.hpp"
#include "config/schema.hpp"

namespace lastcall::router {

using config::Duration;

inline constexpr char const* kDefaultPath = "/etc/lastcall/router.yaml";
inline constexpr char const* kConfigVariable = "LASTCALL_ROUTER_CONFIG";
inline constexpr char const* kEtcdPasswordVariable = "LASTCALL_ROUTER_ETCD_PASSWORD";
inline constexpr char const* kWorkerKeyVariable = "LASTCALL_ROUTER_WORKER_KEY";

/// Workers that the configuration itself names.
struct StaticSource {
  std::vector<std::string> urls;
  std::string model;  // empty: any that a request names
  friend bool operator==(StaticSource const&, StaticSource const&) = default;
};

/// A directory of instance files, as lastcall's file registry writes them.
struct FileSource {
  std::string directory;
  friend bool operator==(FileSource const&, FileSource const&) = default;
};

/// Keys in etcd, as lastcall's `etcd` registry writes them.
struct EtcdSource {
  std::vector<std::string> endpoints{"http://127.0.0.1:2379"};
  std::optional<std::string> dynamo_namespace;  // unset: all
  std::optional<std::string> component;         // unset: all
  std::optional<std::string> username;
  std::optional<std::string> password_file;  // unset: kEtcdPasswordVariable
  std::optional<std::string> ca_file;
  std::optional<std::string> cert_file;
  std::optional<std::string> key_file;
  friend bool operator==(EtcdSource const&, EtcdSource const&) = default;
};

/// EndpointSlices of Services.
struct KubernetesSource {
  std::vector<std::string> services;
  std::optional<std::string> space;  // unset: this pod's namespace
  std::optional<std::string> port;   // its name or number; unset: the first
  std::string model;                 // empty: any that a request names
  bool tls = false;                  // workers speak https
  std::optional<std::string> api_server;
  std::string token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  std::string ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  friend bool operator==(KubernetesSource const&, KubernetesSource const&) = default;
};

struct Source {
  std::variant<StaticSource, FileSource, EtcdSource, KubernetesSource> kind;
  friend bool operator==(Source const&, Source const&) = default;
};

/// How related requests are recognized, which then go to one worker.
enum class Affinity : std::uint8_t { off, prefix, header };

struct Choosing {
  std::uint32_t attempts = 3;
  Affinity affinity = Affinity::off;
  std::uint32_t affinity_bytes = 512;
  std::string affinity_header = "X-Session-Id";
  Duration skip_first{1'000};
  Duration skip_most{30'000};
};

struct Timeouts : config::ProxyTimeouts {
  /// It is short because another worker can be tried.
  Timeouts() : ProxyTimeouts{.connect = Duration{2'000}} {}

  Duration lookup{30'000};
};

struct Limits {
  std::uint32_t max_header_size = 32 * 1024;
  std::uint32_t max_body_size = 64 * 1024 * 1024;
  std::uint32_t max_connections = 10'000;
  std::optional<std::uint64_t> max_buffer_memory;  // bytes; unset: depends on the memory available
};

struct Tls {
  std::optional<std::string> cert_file;
  std::optional<std::string> key_file;
};

/// TLS to workers with an https URL.
struct WorkerTls {
  std::optional<std::string> ca_file;  // unset: the system's authorities
  std::optional<std::string> cert_file;
  std::optional<std::string> key_file;
  std::optional<std::string> server_name;  // unset: the host of the URL
};

struct Shutdown {
  Duration late_accept{5'000};
  Duration grace_period{1'800'000};
};

/// The form in which workers continue an answer.
enum class MigrateBy : std::uint8_t {
  probe,  // as probes of each worker have found
  off,    // answers do not continue
  text,
  vllm_ids,
  sglang_ids,
};

struct Migration {
  MigrateBy by = MigrateBy::probe;
  std::optional<std::string> key_file;  // unset: kWorkerKeyVariable
  bool comment = false;                 // clients are notified in a comment of the stream
  std::optional<Duration> stall{20'000};
  std::uint32_t prefill_tokens = 65'536;
  Duration wait{30'000};
};

/// How workers are asked for their load.
struct LoadReading {
  std::optional<Duration> interval{2'000};
  Duration max_age{10'000};
  std::optional<std::uint32_t> port;  // unset: the port of the worker's URL
};

/// The load above which the workers of a model are busy.
struct ThresholdRule {
  std::string model;  // empty: models without a row of their own
  std::optional<double> active_decode_blocks;
  std::optional<std::uint64_t> active_prefill_tokens;
  std::optional<std::uint32_t> ranks;
  friend bool operator==(ThresholdRule const&, ThresholdRule const&) = default;
};

struct Rejection {
  std::vector<ThresholdRule> thresholds;
  bool http_api = false;
  std::optional<std::string> http_token;
};

struct Settings {
  config::Address listen{"0.0.0.0", 8080};
  config::Address operators{"0.0.0.0", 7091};
  std::vector<Source> workers;
  Choosing choosing;
  LoadReading load;
  Rejection rejection;
  Migration migration;
  Timeouts timeouts;
  Limits limits;
  Tls tls;
  WorkerTls worker_tls;
  Shutdown shutdown;
  config::Log log;
};

config::Keys keys_of(Settings& settings);
config::Keys keys_of(Source& source);
config::Keys keys_of(ThresholdRule& rule);

struct LoadedSettings {
  Settings settings;
  std::string source;  // the file that was read; empty: none was
  config::Problems errors;
};

LoadedSettings load_settings(config::LoadOptions const& options,
                             config::Environment const& environment);

}  // namespace lastcall::router
