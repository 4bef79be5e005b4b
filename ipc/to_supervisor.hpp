// The messages of shims, engines and operators, one struct for each `op`; the rules are in
// message.hpp.
//
// Pure values, no thread rule. Source: docs/ipc.md, 'To the supervisor'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/change.hpp"
#include "core/admission_limits.hpp"
#include "core/instant.hpp"
#include "ipc/limits.hpp"

namespace lastcall::ipc {

using lifecycle::Duration;
using lifecycle::Instant;

struct EngineFacts {
  EngineState state{EngineState::waiting};
  std::int64_t pid{};  // in the shim's PID namespace: only for people, never for a signal
  std::optional<Instant> started_at;
  std::optional<Instant> exited_at;
  std::optional<int> code;             // set if it exited on its own
  std::optional<int> signal;           // the signal that killed it
  bool oom{};                          // the cgroup counted an OOM kill
  bool ordered{};                      // the shim had signalled it
  std::optional<std::uint64_t> alive;  // after its end: how many of its processes are left
  friend bool operator==(EngineFacts const&, EngineFacts const&) = default;
};

struct ShimFacts {
  std::string boot;  // random per shim process
  bool run{};        // the shim's child is this supervisor: same container
  EngineFacts engine;
  std::optional<Instant> stop_at;  // when the stop signal arrived that it holds back
  std::string blob;                // what the last `remember` contained
  friend bool operator==(ShimFacts const&, ShimFacts const&) = default;
};

struct Hello {
  std::uint64_t version{kProtocolVersion};
  Role role{};
  std::string name;
  std::string sdk;
  bool critical{};
  std::uint64_t live{};           // this many request.begin {resumed: true} follow
  std::optional<ShimFacts> shim;  // set exactly when role is shim
  friend bool operator==(Hello const&, Hello const&) = default;
};

struct EndpointRegister {
  std::string endpoint;
  bool graceful_shutdown{true};
  std::string model;
  friend bool operator==(EndpointRegister const&, EndpointRegister const&) = default;
};

struct EndpointUnregister {
  std::string endpoint;
  friend bool operator==(EndpointUnregister const&, EndpointUnregister const&) = default;
};

struct RequestBegin {
  std::string id;
  std::string root;    // empty: the root of `parent` if that is live, else `id` itself
  std::string parent;  // empty: none
  std::string endpoint;
  std::string model;
  std::optional<bool> stream;  // whether the answer is streamed; absent: not given
  bool admit{};                // requests an answer, admitted or rejected
  bool resumed{};              // it ran before this connection began
  std::uint8_t priority{lifecycle::kUsualPriority};  // 0 is the most urgent, 7 the least
  std::optional<std::uint64_t> way;  // the request's X-Lastcall-Way; 0: none; absent: not given
  std::optional<Instant> began_at;   // if it is resumed; absent: now
  friend bool operator==(RequestBegin const&, RequestBegin const&) = default;
};

struct RequestEnd {
  std::string id;
  Outcome outcome{};
  friend bool operator==(RequestEnd const&, RequestEnd const&) = default;
};

struct RequestProgress {
  std::vector<std::string> ids;
  friend bool operator==(RequestProgress const&, RequestProgress const&) = default;
};

struct Cancel {
  std::vector<std::string> ids;  // either these requests
  std::string root;              // or all requests under this root
  CancelMode mode{CancelMode::stop};
  CancelReason reason{CancelReason::control};
  friend bool operator==(Cancel const&, Cancel const&) = default;
};

struct CancelDone {
  std::string id;
  friend bool operator==(CancelDone const&, CancelDone const&) = default;
};

struct Health {
  HealthStatus status{};
  std::string detail;
  friend bool operator==(Health const&, Health const&) = default;
};

/// This process holds back an error that may mean that the engine died, and wants to know.
struct HealthDoubt {
  friend bool operator==(HealthDoubt const&, HealthDoubt const&) = default;
};

struct Load {
  std::uint64_t dp_rank{};
  std::optional<std::uint64_t> active_decode_blocks;
  std::optional<std::uint64_t> kv_total_blocks;
  std::optional<std::uint64_t> active_prefill_tokens;
  friend bool operator==(Load const&, Load const&) = default;
};

struct Fatal {
  std::string reason;
  std::string detail;  // a traceback, as long as the line allows
  friend bool operator==(Fatal const&, Fatal const&) = default;
};

/// This process registers itself, so it has to be asked to deregister.
struct Registered {
  friend bool operator==(Registered const&, Registered const&) = default;
};

struct Deregistered {
  friend bool operator==(Deregistered const&, Deregistered const&) = default;
};

struct CleanupDone {
  friend bool operator==(CleanupDone const&, CleanupDone const&) = default;
};

struct EngineStarted {
  std::int64_t pid{};
  std::optional<Instant> at;
  friend bool operator==(EngineStarted const&, EngineStarted const&) = default;
};

struct EngineExited {
  std::optional<int> code;
  std::optional<int> signal;
  bool oom{};
  bool ordered{};
  std::optional<Instant> at;
  std::optional<std::uint64_t> alive;  // absent: this shim does not report it
  friend bool operator==(EngineExited const&, EngineExited const&) = default;
};

/// The engine's processes that are left after its main one.
struct EngineTree {
  std::uint64_t alive{};
  std::vector<std::string> names;  // the names of a few of them
  friend bool operator==(EngineTree const&, EngineTree const&) = default;
};

/// A process of the engine's tree that ended before the main process.
struct EngineDied {
  std::int64_t pid{};
  std::string name;
  std::optional<int> signal;
  Instant at{};
  bool ordered{};                      // the main process had received its stop signal by then
  std::optional<std::uint64_t> alive;  // without the main process; absent: not reported
  std::vector<std::string> names;      // their names, each once; empty: there are too many
  friend bool operator==(EngineDied const&, EngineDied const&) = default;
};

/// A process of the engine's tree is in state T.
struct EngineStopped {
  std::int64_t pid{};
  std::string name;
  friend bool operator==(EngineStopped const&, EngineStopped const&) = default;
};

/// Its ack proves that the supervisor runs.
struct Ping {
  friend bool operator==(Ping const&, Ping const&) = default;
};

/// A stop signal that the shim has received and holds back.
struct Signal {
  std::string name;  // without SIG: TERM, INT, QUIT
  Instant at{};
  friend bool operator==(Signal const&, Signal const&) = default;
};

struct StatusQuery {
  friend bool operator==(StatusQuery const&, StatusQuery const&) = default;
};

struct RequestsQuery {
  std::string after;  // the `next` of the page before
  std::uint64_t limit{kDefaultPage};
  friend bool operator==(RequestsQuery const&, RequestsQuery const&) = default;
};

struct Watch {
  std::optional<Duration> interval;  // sent at least this often; absent: only on changes
  friend bool operator==(Watch const&, Watch const&) = default;
};

struct Drain {
  bool exit{};                      // a stop instead of a reversible drain
  std::optional<Duration> timeout;  // for a stop: it takes no longer than this
  friend bool operator==(Drain const&, Drain const&) = default;
};

struct Resume {
  friend bool operator==(Resume const&, Resume const&) = default;
};

struct Reload {
  friend bool operator==(Reload const&, Reload const&) = default;
};

using lastcall::Change;

struct AdmissionSet {
  Change<std::uint64_t> engine_request_limit;
  Change<std::uint64_t> queue_limit;  // cleared: the default
  Change<std::uint64_t> queue_timeout_ms;
  Change<std::uint64_t> engine_wait_limit;
  friend bool operator==(AdmissionSet const&, AdmissionSet const&) = default;
};

struct ThresholdsSet {
  std::string model;                              // empty: every model
  Change<double> active_decode_blocks_threshold;  // a share of kv_total_blocks, 0 to 1
  Change<std::uint64_t> active_prefill_tokens_threshold;
  friend bool operator==(ThresholdsSet const&, ThresholdsSet const&) = default;
};

/// A preStop hook was called: it is acked when the stop signal of its container may come.
struct Prestop {
  Container container{};
  friend bool operator==(Prestop const&, Prestop const&) = default;
};

}  // namespace lastcall::ipc
