// Reads the engine's own gauges while they are needed, and reports them to the core.
//
// Rules:
//  1. While they are not needed, no timer runs. In a drain whose requests no peer reports, they
//     show when the drain is over; otherwise they prove whether a slow engine makes progress.
//  2. In a drain they are read at least once a second, and often enough for `drain_unknown`. The
//     core takes the engine's refresh period into account.
//  3. A failed reading is reported as a failure. A figure that is no longer updated is withdrawn.
//
// Thread rule: the loop's thread. Source: specification, 'Where in-flight comes from'.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/presets.hpp"
#include "config/schema.hpp"
#include "probes/checks/gauge_reader.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

/// The settings of a reader for these gauges.
probes::GaugeSettings gauge_settings(config::EngineGauges const& gauges);

/// Converts a reading to an event for the core.
lifecycle::GaugesRead gauges_read(probes::GaugeReading const& reading);

class GaugeDriver {
 public:
  /// `load` reads only the usage of the KV cache, for the load thresholds.
  enum class Need : std::uint8_t { none, load, progress, drain };

  GaugeDriver(boost::asio::any_io_executor executor, config::Config const& config,
              EventSink& events, telemetry::Log& log, std::function<void()> on_reading);

  /// Returns the reason why no gauge can be read; empty if they can.
  std::string problem() const { return reader_ ? reader_->problem() : std::string{}; }
  /// How long the engine may be silent, which a reload may change; from the next reading on.
  void dead_after(Duration silence);
  void need(Need need);
  /// The engine's data-parallel ranks, as of the last reading.
  std::vector<std::string> const& ranks() const { return ranks_; }
  /// In a drain: begins a new reading instead of the current one, which belongs to an earlier
  /// question.
  void read_anew();

 private:
  void ask();
  void take(probes::GaugeReading const& reading);
  void note(probes::GaugeReading const& reading);
  void report_load(probes::GaugeReading const& reading);

  std::unique_ptr<probes::GaugeReader> reader_;  // null: this engine has no gauges
  probes::Duration drain_period_;
  probes::Duration progress_period_;
  probes::Duration timeout_;
  EventSink& events_;
  telemetry::Log& log_;
  std::function<void()> on_reading_;
  boost::asio::steady_timer timer_;
  Need need_ = Need::none;
  std::optional<std::string> reported_;  // the last line that was logged about a reading
  std::vector<std::string> ranks_;
};

}  // namespace lastcall::runtime
