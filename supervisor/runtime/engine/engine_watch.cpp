#include "supervisor/runtime/engine/engine_watch.hpp"

#include <utility>

#include "base/clock.hpp"

namespace lastcall::runtime {
namespace {

/// If no work makes progress for this long, the engine's own counters are read.
constexpr lifecycle::Duration kStillIsSeen{2'000};

}  // namespace

EngineWatch::EngineWatch(boost::asio::any_io_executor const& executor, config::Config const& config,
                         lifecycle::Lifecycle const& core, EventSink& events, telemetry::Log& log,
                         std::string mark, Callbacks callbacks)
    : core_(core),
      health_(executor, config, events, log, of_health(callbacks)),
      gauges_(executor, config, events, log, std::move(callbacks.on_reading)),
      token_(executor, config, events, log, std::move(mark),
             {.ranks = [this] { return gauges_.ranks(); },
              .read_anew = [this] { gauges_.read_anew(); }}) {}

HealthDriver::Callbacks EngineWatch::of_health(Callbacks const& callbacks) {
  return {.ask_peers = callbacks.ask_peers,
          .describe_progress = [this] { return core_.health().progress.text(monotonic_now()); },
          .on_outcome = callbacks.on_outcome,
          .on_round = callbacks.on_round,
          .server_outlives_engine = [this] { return server_outlives_engine(); },
          .on_all_passed = callbacks.on_all_passed,
          .is_starting = [this] { return !core_.health().started(); }};
}

std::string EngineWatch::problem() const {
  for (std::string const& problem : {health_.problem(), gauges_.problem(), token_.problem()}) {
    if (!problem.empty()) {
      return problem;
    }
  }
  return {};
}

void EngineWatch::update(lifecycle::Snapshot const& snapshot) {
  bool const may_live = !snapshot.shim_known || snapshot.engine == lifecycle::EngineState::running;
  health_.run(!health_.rows().empty() && may_live &&
              snapshot.phase < lifecycle::Phase::cleaning_up);
  gauges_.dead_after(core_.health().settings().unresponsive_after);
  gauges_.need(may_live ? gauges_needed(snapshot) : GaugeDriver::Need::none);
}

void EngineWatch::end() {
  health_.run(false);
  gauges_.need(GaugeDriver::Need::none);
  token_.withdraw();
}

bool EngineWatch::may_be_dying() const {
  lifecycle::Snapshot const now = core_.snapshot();
  if (now.stop && now.stop->mode == lifecycle::StopMode::fatal) {
    return true;
  }
  bool const serves =
      now.phase > lifecycle::Phase::starting && now.phase < lifecycle::Phase::cleaning_up;
  bool const runs = now.engine == lifecycle::EngineState::running;
  bool const shim_reports = now.shim_connected && runs;
  bool const checks_report = !now.stop && health_.is_running() && (runs || !now.shim_known);
  return serves && (shim_reports || checks_report);
}

/// The server of an engine with several processes answers its checks for up to 2 s after its core
/// has died. The shim sees each process, and its report may come a moment after a check's.
lifecycle::Duration EngineWatch::server_outlives_engine() const {
  constexpr lifecycle::Duration kWithoutShim{2'000};
  constexpr lifecycle::Duration kWithShim{300};
  if (core_.settings().essential_processes.empty()) {
    return lifecycle::Duration{0};
  }
  return core_.snapshot().shim_connected ? kWithShim : kWithoutShim;
}

GaugeDriver::Need EngineWatch::gauges_needed(lifecycle::Snapshot const& snapshot) const {
  using Need = GaugeDriver::Need;
  // A request that arrives after `drained` delays a stop that joins, so it has to be detected.
  bool const drains =
      snapshot.phase == lifecycle::Phase::draining || snapshot.phase == lifecycle::Phase::drained;
  bool const is_counted = snapshot.source == lifecycle::InFlightSource::sdk ||
                          snapshot.source == lifecycle::InFlightSource::ingress;
  if (drains && !is_counted) {
    return Need::drain;
  }
  bool const is_judged = !snapshot.stop && snapshot.phase != lifecycle::Phase::starting;
  // Before tokens that stall can prove anything, the counter must be read again.
  lifecycle::EngineHealth const& health = core_.health();
  bool const stands_still = health.settings().tokens_show_stalls &&
                            health.progress.still_for(monotonic_now()) >= kStillIsSeen;
  bool const has_limit =
      health.settings().stalled_after.value_or(lifecycle::Duration{0}) > lifecycle::Duration{0};
  bool const may_stall = has_limit || health_.is_slow() || stands_still;
  if (is_judged && may_stall) {
    return Need::progress;
  }
  return snapshot.admission.thresholds.decode_ppm && !snapshot.stop ? Need::load : Need::none;
}

}  // namespace lastcall::runtime
