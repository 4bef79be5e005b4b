// Writes the core's notes to the log, in the terms of docs/specification.md.
//
// Rules:
//  1. `Active graceful endpoints: N`, `Last endpoint completed, notifying all waiters` and
//     `lastcall shutdown complete` are fixed words that people and tests search for.
//  2. The start of each phase is logged, and so is its end, with the outcome, the time taken, the
//     time left and the requests in flight.
//  3. A fatal stop is logged at CRITICAL with the detail or traceback that was reported.
//
// Thread rule: the loop's thread. Source: specification, 'Drain report'.
#pragma once

#include <string>

#include "core/action.hpp"
#include "core/lifecycle.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class Narrator {
 public:
  Narrator(lifecycle::Lifecycle const& core, telemetry::Log& log) : core_(core), log_(log) {}

  void narrate(lifecycle::Instant now, lifecycle::Action const& action);
  void report(std::string const& json);
  void report_corrected(int code);

 private:
  void stop_begun(lifecycle::Instant now, lifecycle::StopBegun const& stop);
  void phase_begun(lifecycle::Instant now, lifecycle::PhaseBegun const& begun);
  void phase_ended(lifecycle::PhaseEnded const& ended);
  void verdict_changed(lifecycle::VerdictChanged const& changed);
  void engine_awaited(lifecycle::AwaitReplacement const& await);
  void load_changed(lifecycle::BusyChanged const& changed);

  lifecycle::Lifecycle const& core_;
  telemetry::Log& log_;
};

}  // namespace lastcall::runtime
