// Watches for the engine that replaces one that has to go, in pods where no shim reports it.
//
// Rules:
//  1. It makes a connection every 100 ms, one at a time; after each that was accepted it reads the
//     engine's `process_start_time_seconds` if its metrics are known. It does nothing while no
//     watch runs.
//  2. The engine counts as replaced when the start time changed, or when a connection was refused.
//     But an engine that was not asked to end (condemned) may have closed its port and hang: then a
//     refusal counts only after it was asked to end or had accepted a connection, and a connection
//     that is accepted after a refusal counts, too.
//  3. `on_replaced` is called once per watch, from the loop; never after stop().
//
// Thread rule: everything on the loop's thread. Source: specification, 'preStop'; the default
// process metrics of Prometheus client libraries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "probes/checks/check.hpp"
#include "probes/checks/gauge_reader.hpp"

namespace lastcall::probes {

/// The observations of an engine from the moment at which it has to go. Pure.
class ReplacementEvidence {
 public:
  explicit ReplacementEvidence(bool condemned) : end_is_due_(!condemned) {}

  /// Its container is being stopped.
  void ordered_to_end() { end_is_due_ = true; }
  /// Each returns the evidence that the engine was replaced; empty while there is none.
  std::string refused();
  std::string accepted();
  std::string start_time(std::uint64_t seconds);

 private:
  bool end_is_due_;
  bool was_accepted_ = false;
  bool was_refused_ = false;
  std::optional<std::uint64_t> start_time_;
};

struct ReplacementSettings {
  std::string host;  // where the engine itself listens
  std::uint16_t port = 0;
  std::string metrics_url;  // empty: none is known
};

class ReplacementWatch {
 public:
  static constexpr Duration kInterval{100};

  ReplacementWatch(boost::asio::any_io_executor executor, ReplacementSettings const& settings,
                   std::function<void(std::string how)> on_replaced);
  ~ReplacementWatch();

  void start(bool condemned);
  void stop();
  /// Its container is being stopped.
  void ordered_to_end();

 private:
  void look();
  void look_again();
  void take(CheckOutcome const& outcome);
  void ask_start_time();
  bool is_settled(std::string const& how);

  std::function<void(std::string how)> on_replaced_;
  std::unique_ptr<Check> connect_;
  std::unique_ptr<GaugeReader> reader_;
  boost::asio::steady_timer timer_;
  std::optional<ReplacementEvidence> evidence_;  // while it watches
};

}  // namespace lastcall::probes
