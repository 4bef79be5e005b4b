// Answers the calls of operators and the kubelet: /livez, /readyz, /metrics, and /busy_threshold.
//
// Thread rule: the owner's thread; answers are given on the listener's.
// Source: docs/router.md, 'Metrics' and 'Rejection'.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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

  /// `metrics` and `log` outlive it. `on_threshold` is called if `rejection.http_api` is on.
  Operators(config::Address const& address, Metrics& metrics, Rejection const& rejection,
            runtime::Log& log, ThresholdHandler on_threshold);

  /// Returns the problem, if there is one.
  std::optional<std::string> start() { return listener_.start(); }
  std::string address() const { return listener_.address(); }
  void know_workers(bool any) { has_workers_ = any; }
  /// For /readyz?verbose: sources that cannot be read now. The router stays ready with the last
  /// known workers.
  void know_troubled(std::set<std::string> const& sources);
  /// For the same: what a worker can do; empty if it has left.
  void know_worker(std::string const& url, std::string const& line);
  void end() { is_ending_ = true; }

 private:
  probes::Reply answer(probes::Request const& request) const;
  void ask_threshold(probes::Request const& request, probes::Responder const& responder);

  Metrics& metrics_;
  std::optional<std::string> const token_;
  ThresholdHandler const on_threshold_;
  runtime::RefusedCalls refused_;  // the listener's
  std::atomic<bool> has_workers_ = false;
  std::atomic<bool> is_ending_ = false;
  mutable std::mutex mutex_;
  std::string troubled_;                        // as lines
  std::map<std::string, std::string> workers_;  // what they can, by URL
  probes::HttpListener listener_;               // last, because it answers until its end
};

}  // namespace lastcall::router
