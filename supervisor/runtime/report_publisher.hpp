// Publishes the report of a drain or stop: in the log, in the termination message, at the probes,
// and to the shim with its order to exit.
//
// Rules:
//  1. Every place gets the same text.
//  2. A report that becomes wrong later is corrected where it can be replaced (final_report.hpp).
//
// Thread rule: the loop's thread. Source: specification, 'Drain report'.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/lifecycle.hpp"
#include "ipc/to_supervisor.hpp"
#include "supervisor/runtime/record/final_report.hpp"
#include "supervisor/runtime/record/narrator.hpp"
#include "supervisor/runtime/sessions/shim_session.hpp"
#include "telemetry/log.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

class ReportPublisher {
 public:
  /// Receives each text, for display.
  using Reported = std::function<void(std::string const& report, lifecycle::Instant now)>;

  ReportPublisher(boost::asio::io_context& io, lifecycle::Lifecycle const& core, ShimSession& shim,
                  Narrator& narrator, telemetry::Log& log, Reported reported);

  /// `registries` are the names by index.
  void publish(lifecycle::Instant now, std::vector<std::string> registries);
  /// Orders the shim to exit with this code and the report.
  void end_shim(int code);
  /// Handles the shim's report of the engine's end, which may correct the report.
  void engine_exited(ipc::EngineExited const& exited);
  /// Whether the shim may still correct it.
  bool is_open() const { return report_.is_open() && shim_.is_connected(); }
  void forget() { report_.forget(); }

 private:
  void show(std::string const& report, lifecycle::Instant now);

  boost::asio::io_context& io_;
  lifecycle::Lifecycle const& core_;
  ShimSession& shim_;
  Narrator& narrator_;
  telemetry::Log& log_;
  Reported const reported_;
  FinalReport report_;
};

}  // namespace lastcall::runtime
