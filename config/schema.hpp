// The whole configuration as plain structs, which the rest of the supervisor reads.
//
// Rules:
//  1. A default-constructed Config is valid: it is the meaning of an empty file.
//  2. std::optional means that "unset" has a meaning of its own: a preset decides, or the feature
//     is off. Nothing else is optional.
//  3. Values are checked before they get here (decode.hpp): addresses parse, URLs are URLs, paths
//     are absolute, durations are inside their ranges. Readers do not check again.
//  4. Values that depend on `engine.kind` are not filled in here; ask resolve_engine() in
//     presets.hpp.
//
// The text form of each key, its range, its default and its documentation are in keys.cpp, the one
// table that also makes docs/config.md and the JSON Schema. Pure values, no thread rule.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/schema_discovery.hpp"
#include "core/budgets.hpp"

namespace lastcall::config {

using Duration = std::chrono::milliseconds;

/// A host and a port; the host has no brackets, even for IPv6.
struct Address {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(Address const&, Address const&) = default;
};

/// "127.0.0.1:8000", "[::]:7090".
std::string to_text(Address const& address);

struct Identity {
  std::string dynamo_namespace = "dynamo";  // key: identity.namespace
  std::string component = "backend";
  std::string endpoint = "generate";
  std::string model;                     // label of metrics; empty: the one that a request names
  std::optional<std::string> advertise;  // a URL; unset: http://$POD_IP:<ingress or engine port>
  friend bool operator==(Identity const&, Identity const&) = default;
};

enum class EngineKind { vllm, sglang, trtllm, dynamo, custom };
enum class OnExit { fatal, propagate };

/// Where the engine's own Prometheus gauges are; unset members come from the preset.
struct EngineMetrics {
  std::optional<std::string> url;
  std::optional<std::string> running;
  std::optional<std::string> waiting;
  std::optional<std::string> tokens;
  std::optional<std::string> kv_usage;
  std::optional<Duration> refresh;
  std::optional<std::string> load_url;
  bool load_tracking = false;
  friend bool operator==(EngineMetrics const&, EngineMetrics const&) = default;
};

/// The request for one token that we send ourselves; unset members come from the preset.
struct EngineProbe {
  bool barrier = true;
  bool canary = true;
  std::optional<std::string> url;
  std::optional<std::string> model;
  std::vector<std::string> headers;  // "Name: value"
  friend bool operator==(EngineProbe const&, EngineProbe const&) = default;
};

struct Engine {
  EngineKind kind = EngineKind::custom;
  std::vector<std::string> command;        // run mode only
  std::optional<std::string> stop_signal;  // unset: the preset's
  OnExit on_exit = OnExit::fatal;
  std::optional<Duration> rest_grace;  // unset: 10 s, except for workers of a known server
  std::vector<std::string> essential_processes;  // empty: the preset's
  std::optional<std::string> url;                // base URL of the engine's HTTP server
  EngineMetrics metrics;
  EngineProbe probe;
  friend bool operator==(Engine const&, Engine const&) = default;
};

enum class Migrate { at_end, at_start };
enum class HandOff { off, early };
enum class SecondSignal { ignore, force };
enum class AfterStop { automatic, rearm, exit };  // key value of the first: auto

struct Shutdown {
  lifecycle::ShutdownSettings budgets;
  Migrate migrate = Migrate::at_end;
  HandOff hand_off = HandOff::off;
  SecondSignal second_signal = SecondSignal::ignore;
  AfterStop after_stop = AfterStop::automatic;
};

struct Hook {
  std::string name;
  std::vector<std::string> command;
  Duration timeout{2'000};
  friend bool operator==(Hook const&, Hook const&) = default;
};

struct Cleanup {
  std::vector<std::string> paths;  // absolute, with shell wildcards
  std::vector<Hook> hooks;
  friend bool operator==(Cleanup const&, Cleanup const&) = default;
};

struct HttpCheck {
  std::string url;
  friend bool operator==(HttpCheck const&, HttpCheck const&) = default;
};
struct TcpCheck {
  Address address;
  friend bool operator==(TcpCheck const&, TcpCheck const&) = default;
};
struct ExecCheck {
  std::vector<std::string> command;
  friend bool operator==(ExecCheck const&, ExecCheck const&) = default;
};
/// Asks the SDK inside the engine over the IPC.
struct IpcCheck {
  friend bool operator==(IpcCheck const&, IpcCheck const&) = default;
};
/// Judges the engine by the bytes that move while work is in flight (health.stalled_after).
struct ProgressCheck {
  friend bool operator==(ProgressCheck const&, ProgressCheck const&) = default;
};

struct HealthCheck {
  std::string name;
  std::variant<HttpCheck, TcpCheck, ExecCheck, IpcCheck, ProgressCheck> kind;
  Duration timeout{1'000};
  std::optional<std::uint32_t> failure_threshold;  // unset: health.failure_threshold
  friend bool operator==(HealthCheck const&, HealthCheck const&) = default;
};

struct Health {
  Duration interval{2'000};
  Duration unresponsive_after{30'000};
  std::optional<Duration> stalled_after;                    // unset: the core's own limit; 0: never
  std::optional<Duration> startup_timeout;                  // unset: loading may take for ever
  std::optional<std::uint32_t> failure_threshold;           // unset: the preset's
  std::optional<std::vector<std::uint32_t>> dead_statuses;  // unset: the preset's
  std::optional<std::vector<HealthCheck>> checks;           // unset: the preset's
  friend bool operator==(Health const&, Health const&) = default;
};

enum class ReadinessOnStop { automatic, immediate, late };  // key value of the first: auto

enum class StatusPage { automatic, always, never };  // key value of the first: auto

struct Probes {
  Address listen{"::", 7090};
  ReadinessOnStop readiness_on_stop = ReadinessOnStop::automatic;
  StatusPage status_page = StatusPage::automatic;
  bool merge_engine_metrics = false;  // into /metrics
  Duration engine_metrics_timeout{5'000};
  std::optional<std::string> orders_token_file;  // unset: no orders over HTTP
  friend bool operator==(Probes const&, Probes const&) = default;
};

/// The preStop hooks.
struct LifecycleHooks {
  bool enabled = false;
  bool http = true;  // over `listen` too; otherwise only over the Unix socket
  Address listen{"::", 7091};
  std::optional<std::string> token;
  friend bool operator==(LifecycleHooks const&, LifecycleHooks const&) = default;
};

/// The users that may connect, in addition to the supervisor's own user and root.
struct AllowedUids {
  bool any = false;
  std::vector<std::uint32_t> listed;
  friend bool operator==(AllowedUids const&, AllowedUids const&) = default;
};

struct Ipc {
  std::string socket = "/run/lastcall/lastcall.sock";
  std::string admin_socket = "/run/lastcall-admin/admin.sock";
  std::uint32_t mode = 0660;
  AllowedUids allow_uids;
  Duration reconnect_window{5'000};
  std::uint32_t max_requests_per_peer = 20'000;
  std::uint32_t max_requests = 50'000;
  friend bool operator==(Ipc const&, Ipc const&) = default;
};

/// The limit for a request whose client has left it to the engine, if no other timeout limits it.
inline constexpr Duration kLeftToEngine{300'000};

/// How long the ingress and the router wait, with other defaults in part. Each timeout is set on
/// its own; unset means no limit.
struct ProxyTimeouts {
  Duration connect{5'000};
  std::optional<Duration> first_byte;
  std::optional<Duration> idle;
  std::optional<Duration> total;
  Duration client{60'000};
  Duration keep_alive{75'000};
  Duration upstream_keep_alive{4'000};  // below the 5 s after which uvicorn closes
  friend bool operator==(ProxyTimeouts const&, ProxyTimeouts const&) = default;
};

enum class TlsVersion { v1_2, v1_3 };
enum class ClientCertificates { required, optional };

/// TLS for clients; certificate and key are either both set or both unset.
struct IngressTls {
  std::optional<std::string> cert_file;
  std::optional<std::string> key_file;
  TlsVersion min_version = TlsVersion::v1_2;
  /// All ciphers that have forward secrecy and authenticate what they encrypt. The first one that a
  /// client also offers is used. The names of TLS 1.3 ciphers begin with TLS_.
  std::vector<std::string> ciphers{"TLS_AES_128_GCM_SHA256",       "TLS_AES_256_GCM_SHA384",
                                   "TLS_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256",
                                   "ECDHE-RSA-AES128-GCM-SHA256",  "ECDHE-ECDSA-AES256-GCM-SHA384",
                                   "ECDHE-RSA-AES256-GCM-SHA384",  "ECDHE-ECDSA-CHACHA20-POLY1305",
                                   "ECDHE-RSA-CHACHA20-POLY1305"};
  std::optional<std::string> client_ca_file;  // unset: clients are not asked for a certificate
  ClientCertificates client_certificates = ClientCertificates::required;
  friend bool operator==(IngressTls const&, IngressTls const&) = default;
};

enum class ControlAccess { relay, operators, refuse };

/// A rule about the clients that may send requests to a path of the engine that is not work.
struct ControlRule {
  std::string path;  // includes all paths below it; may end with a '*'
  ControlAccess access = ControlAccess::refuse;
  friend bool operator==(ControlRule const&, ControlRule const&) = default;
};

/// Requests that control the engine instead of asking it for work.
struct ControlPaths {
  ControlAccess access = ControlAccess::operators;     // for those that change something
  ControlAccess status_access = ControlAccess::relay;  // for those that only report
  std::optional<std::string> token;                    // unset: no token makes a client an operator
  std::vector<std::string> certificates;               // names in operators' client certificates
  std::vector<ControlRule> paths;                      // in addition to the preset's
  friend bool operator==(ControlPaths const&, ControlPaths const&) = default;
};

struct Ingress {
  bool enabled = false;  // true as soon as the file has an `ingress:` section
  Address listen{"::", 8080};
  std::optional<std::string> upstream;  // host:port or unix:/path; unset: the preset's address
  std::optional<bool> exclusive;        // unset: true if the upstream is local
  IngressTls tls;
  ControlPaths control_paths;
  ProxyTimeouts timeouts;
  std::uint32_t max_header_size = 32'768;      // bytes
  std::optional<std::uint64_t> max_body_size;  // bytes
  /// This machine, and the addresses that clusters give to pods and nodes: RFC 1122, 1918, 3927,
  /// 4193, 6598.
  std::vector<std::string> trusted_proxies{"127.0.0.0/8",    "10.0.0.0/8",    "172.16.0.0/12",
                                           "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16",
                                           "::1/128",        "fe80::/10",     "fc00::/7"};
  bool underscores_in_headers = false;
  std::uint32_t max_connections = 10'000;
  std::optional<std::uint32_t> max_connections_per_address;
  std::optional<std::uint64_t> max_buffer_memory;  // bytes; unset: depends on the memory available
  std::uint32_t threads = 1;                       // 1: the supervisor's own
  friend bool operator==(Ingress const&, Ingress const&) = default;
};

struct Admission {
  std::optional<std::uint32_t> engine_request_limit;  // unset: no limit, nothing queues
  std::uint32_t queue_limit = 16;
  std::optional<Duration> queue_timeout;
  std::optional<std::uint32_t> engine_wait_limit;  // unset: first bytes are not looked at
  bool priorities = false;
  std::uint32_t overload_status = 503;
  std::optional<double> active_decode_blocks_threshold;
  std::optional<std::uint64_t> active_prefill_tokens_threshold;
  Duration load_max_age{10'000};
  std::optional<std::uint32_t> ranks;  // unset: as many as have reported
  bool http_api = false;
  std::optional<std::string> http_token;  // unset: every client of the port may set them
  friend bool operator==(Admission const&, Admission const&) = default;
};

enum class LogLevel { trace, debug, info, warning, error, critical };
enum class LogFormat { automatic, json, text };  // key value of the first: auto

struct Log {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::automatic;
  friend bool operator==(Log const&, Log const&) = default;
};

/// The properties of an endpoint if no SDK gives them: by endpoint name, or by HTTP path (with a
/// leading /).
struct EndpointSettings {
  std::string name;
  bool graceful_shutdown = true;
  bool defer_cancel = false;  // key: cancel.defer_until_first_byte
  friend bool operator==(EndpointSettings const&, EndpointSettings const&) = default;
};

struct Config {
  Identity identity;
  Engine engine;
  Shutdown shutdown;
  Cleanup cleanup;
  Health health;
  Probes probes;
  LifecycleHooks lifecycle;
  Ipc ipc;
  std::vector<Registry> discovery;
  Events events;
  Ingress ingress;
  Admission admission;
  Log log;
  std::vector<EndpointSettings> endpoints;
};

}  // namespace lastcall::config
