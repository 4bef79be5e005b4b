// What the engine itself is asked: its checks, its gauges and requests for one token, each while
// the core needs the answer.
//
// Rules:
//  1. Checks run until phase 3 while the engine may live. Gauges are read in a drain whose requests
//     no peer counts, to judge whether a slow engine makes progress, and for the load thresholds.
//  2. An error of the engine may mean its death if something would confirm that: the shim, or a
//     check that fails outside of a stop.
//
// Thread rule: the loop's thread. Source: specification, 'Health of the engine'.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "supervisor/runtime/engine/gauge_driver.hpp"
#include "supervisor/runtime/engine/health_driver.hpp"
#include "supervisor/runtime/engine/token_driver.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class EngineWatch {
 public:
  struct Callbacks {
    IpcHealth::AskAll ask_peers;
    std::function<void(std::string const& check, probes::CheckOutcome const&)> on_outcome;
    std::function<void()> on_round;
    /// The same callback as HealthDriver's.
    std::function<void(lifecycle::Instant since)> on_all_passed;
    std::function<void()> on_reading;
  };

  /// `mark` marks the supervisor's own requests (token_driver.hpp).
  EngineWatch(boost::asio::any_io_executor const& executor, config::Config const& config,
              lifecycle::Lifecycle const& core, EventSink& events, telemetry::Log& log,
              std::string mark, Callbacks callbacks);

  /// Names what could not be made, and the reason; empty if there is none.
  std::string problem() const;
  /// Starts and stops the questions as the core's state needs them.
  void update(lifecycle::Snapshot const& snapshot);
  /// The supervisor ends: nothing is asked any more.
  void end();
  /// Whether an error of the engine may mean its death. If the death is known, the engine's
  /// requests are cut in the next turn.
  bool may_be_dying() const;

  HealthDriver& health() { return health_; }
  TokenDriver& token() { return token_; }

 private:
  HealthDriver::Callbacks of_health(Callbacks const& callbacks);
  lifecycle::Duration server_outlives_engine() const;
  GaugeDriver::Need gauges_needed(lifecycle::Snapshot const& snapshot) const;

  lifecycle::Lifecycle const& core_;
  HealthDriver health_;
  GaugeDriver gauges_;
  TokenDriver token_;
};

}  // namespace lastcall::runtime
