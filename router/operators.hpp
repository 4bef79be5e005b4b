// Answers the calls of operators and the kubelet: /livez, /readyz, /metrics, and /busy_threshold.
//
// Thread rule: the owner's thread; answers are given on the listener's.
// Source: docs/router.md, 'Metrics' and 'Rejection'.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "config/schema.hpp"
#include "probes/listener/busy_threshold.hpp"
#include "probes/listener/listener.hpp"
#include "router/metrics.hpp"
#include "router/settings.hpp"
#include "telemetry/refused_calls.hpp"

namespace lastcall::router {

class Operators {
 public:
  /// A call of `/busy_threshold`, on the listener's thread; it may be answered on any.
  using ThresholdHandler = std::function<void(probes::ThresholdCall, probes::Responder)>;

  /// `metrics` and `log` outlive this. `on_threshold` is called if `rejection.http_api` is on.
  Operators(config::Address const& address, Metrics& metrics, Rejection const& rejection,
            telemetry::Log& log, ThresholdHandler on_threshold);

  /// Returns the problem if the listener cannot start.
  std::optional<std::string> start() { return listener_.start(); }
  std::string address() const { return listener_.address(); }
  void know_workers(bool any) { has_workers_ = any; }
  /// Sets the lines about sources that cannot be read now, for /readyz?verbose. The router stays
  /// ready with the workers that it knew last.
  void know_troubled(std::string lines);
  /// Sets what a worker can do, for /readyz?verbose; an empty line means that the worker has left.
  void know_worker(std::string const& url, std::string const& line);
  void end() { is_ending_ = true; }

 private:
  probes::Reply answer(probes::Request const& request) const;
  void ask_threshold(probes::Request const& request, probes::Responder const& responder);

  Metrics& metrics_;
  std::optional<std::string> const token_;
  ThresholdHandler const on_threshold_;
  telemetry::RefusedCalls refused_;  // used by the listener
  std::atomic<bool> has_workers_ = false;
  std::atomic<bool> is_ending_ = false;
  mutable std::mutex mutex_;
  std::string troubled_;                        // as the lines of /readyz?verbose
  std::map<std::string, std::string> workers_;  // what they can do, by URL
  probes::HttpListener listener_;               // last, because it answers until it is destroyed
};

}  // namespace lastcall::router
