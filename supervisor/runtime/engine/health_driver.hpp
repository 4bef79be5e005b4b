// Runs the engine's checks and reports their results to the core.
//
// Rules:
//  1. The index of a check is its position in the configuration, as in the core's settings.
//  2. Checks run while there may be an engine: with a shim, while its engine runs; without a shim,
//     always. The first round runs at once.
//  3. An answer that proves nothing (HTTP 404, no SDK) is treated as slowness.
//  4. While an engine starts, failures are not warnings, and rounds follow quickly. The checks that
//     have not passed yet are logged from time to time (slow_start.hpp).
//  5. A `progress` check never fails by itself: it supplies the data from which the core's
//     `stalled_after` is judged.
//
// Thread rule: the loop's thread. Source: specification, 'Checks'.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "config/presets.hpp"
#include "config/schema.hpp"
#include "probes/checks/check_runner.hpp"
#include "supervisor/runtime/engine/check_rounds.hpp"
#include "supervisor/runtime/engine/engine_doubt.hpp"
#include "supervisor/runtime/engine/exec_checks.hpp"
#include "supervisor/runtime/engine/ipc_health.hpp"
#include "supervisor/runtime/engine/slow_start.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class HealthDriver {
 public:
  struct Row {
    std::string name;
    std::optional<lifecycle::CheckVerdict> last;  // absent if it has not run yet
    std::string detail;
    probes::Duration latency{};
  };
  struct Callbacks {
    IpcHealth::AskAll ask_peers;
    /// Describes the progress of the requests in flight in a text.
    std::function<std::string()> describe_progress;
    std::function<void(std::string const& check, probes::CheckOutcome const&)> on_outcome;
    std::function<void()> on_round;
    /// The time for which checks may pass although the engine has died.
    std::function<lifecycle::Duration()> server_outlives_engine;
    /// After doubt(): called when the checks that have passed prove that the engine was alive at
    /// `since`.
    std::function<void(lifecycle::Instant since)> on_all_passed;
    /// Whether the engine has not been ready yet.
    std::function<bool()> is_starting;
  };

  HealthDriver(boost::asio::any_io_executor executor, config::Config const& config,
               EventSink& events, telemetry::Log& log, Callbacks callbacks);

  /// Names the check that could not be made, and the reason; empty if there is none.
  std::string const& problem() const { return problem_; }

  void run(bool wanted);
  bool is_running() const { return is_running_; }
  /// Called when the engine has answered with an error that may mean its death: every check runs
  /// now.
  void doubt();
  /// Starts the next round now, if checks run.
  void run_now();
  void health(ipc::PeerId peer, ipc::Health const& health);
  void peer_left(ipc::PeerId peer) { ipc_.left(peer); }

  std::vector<Row> const& rows() const { return rows_; }
  /// Whether a check got no answer in time when it last ran.
  bool is_slow() const;

 private:
  void add(config::HealthCheck const& check, std::vector<std::uint32_t> const& dead_statuses);
  std::unique_ptr<probes::Check> make_progress();
  void outcome(std::size_t index, probes::CheckOutcome const& outcome);
  void note_absence();
  void note_slow_start();
  void note_change(Row const& row, lifecycle::CheckVerdict verdict, std::string const& detail);

  boost::asio::any_io_executor executor_;
  EventSink& events_;
  telemetry::Log& log_;
  Callbacks callbacks_;
  IpcHealth ipc_;
  std::vector<Row> rows_;
  ExecChecks exec_;
  std::string problem_;
  bool is_running_ = false;
  CheckRounds rounds_;
  EngineDoubt doubt_;
  SlowStart slow_start_;
  probes::CheckRunner runner_;  // last, because its checks refer to the others
};

}  // namespace lastcall::runtime
