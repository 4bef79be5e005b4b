// The loop's side of the probe listener: it publishes the state for probes, and proves that the
// loop is running.
//
// Rules:
//  1. The state is published on change and with each round of checks, never on the path of a
//     request.
//  2. There is one heartbeat. It uses a timer that runs anyway, for the rounds of checks; while no
//     checks run, it has a slow timer of its own.
//  3. The listener closes last, so that a scrape during the stop still gets the state.
//
// Thread rule: the loop's thread; the listener has its own and reads the published state.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/schema.hpp"
#include "probes/listener/listener.hpp"
#include "probes/listener/probe_routes.hpp"
#include "probes/listener/probe_state.hpp"
#include "probes/listener/status_page.hpp"
#include "probes/metrics/metrics.hpp"
#include "probes/metrics/metrics_relay.hpp"
#include "supervisor/runtime/listener/http_orders.hpp"
#include "supervisor/runtime/listener/public_status.hpp"
#include "supervisor/runtime/listener/status.hpp"
#include "supervisor/runtime/listener/threshold_calls.hpp"
#include "telemetry/refused_calls.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class ProbePublisher {
 public:
  /// Calls over HTTP that only the loop can answer.
  struct Handlers {
    ThresholdCalls::Handler thresholds;
    HttpOrders::Handler orders;
    /// Called on the loop with each heartbeat, for state that is examined now and then.
    std::function<void()> beat;
  };

  ProbePublisher(boost::asio::io_context& io, config::Config const& config, Handlers handlers,
                 telemetry::Log& log);
  ~ProbePublisher();

  /// Serves the status page, too. `sources` outlive it. Must be called before start().
  void serve_status(StatusSources const& sources);
  /// Returns the reason why it cannot listen; empty if it listens.
  std::string start();
  void stop();
  std::string address() const { return listener_.address(); }
  probes::Metrics& metrics() { return metrics_; }

  void publish(StatusSources const& sources);
  /// Called when a drain or stop has ended with this report.
  void reported(std::string const& report, lifecycle::Instant now) {
    public_status_.reported(report, now);
  }
  /// Proves that the loop runs, and updates figures that grow with time.
  void beat();
  /// Starts or stops the slow timer, which is wanted while no checks run.
  void beat_by_itself(bool wanted);

 private:
  void publish_loads();
  HttpOrders::Refused thresholds_on_the_loop();
  struct Timer;  // with the function that is called with each beat
  void arm();

  boost::asio::io_context& io_;
  telemetry::RefusedCalls refused_;
  ThresholdCalls thresholds_;
  HttpOrders orders_;
  probes::PublishedState state_;
  probes::Metrics metrics_;
  probes::Duration stall_after_;
  probes::ProbeRoutes routes_;
  probes::MetricsRelay engine_metrics_;
  PublicStatus public_status_;
  std::unique_ptr<probes::StatusPage> status_page_;  // null if it is off
  probes::HttpListener listener_;
  std::unique_ptr<Timer> timer_;
  bool beats_by_itself_ = false;
  std::vector<std::uint32_t> reported_ranks_;   // ranks that have a series with what they reported
  lifecycle::Lifecycle const* core_ = nullptr;  // null until it was published
};

}  // namespace lastcall::runtime
