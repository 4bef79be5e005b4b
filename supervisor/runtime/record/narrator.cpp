#include "supervisor/runtime/record/narrator.hpp"

#include <optional>
#include <string>
#include <variant>

#include "base/overloaded.hpp"
#include "supervisor/runtime/record/report_view.hpp"

namespace lastcall::runtime {
namespace {

using lifecycle::name;
using lifecycle::to_ms;

std::optional<std::int64_t> left_ms(lifecycle::Lifecycle const& core, lifecycle::Instant now) {
  auto const stop = core.snapshot().stop;
  return stop ? std::optional(to_ms(stop->deadline - now)) : std::nullopt;
}

/// The absence of reports from peers does not prove that there are no requests.
telemetry::Field in_flight_of(lifecycle::Lifecycle const& core,
                              std::optional<std::size_t> counted = {}) {
  if (core.snapshot().source == lifecycle::InFlightSource::unknown) {
    return {"in_flight", "unknown"};
  }
  return {"in_flight", counted.value_or(core.snapshot().in_flight)};
}

}  // namespace

/// Most actions concern requests and have no line, which one look-up determines.
void Narrator::narrate(lifecycle::Instant now, lifecycle::Action const& action) {
  namespace act = lifecycle;
  std::visit(
      Overloaded{
          [&](act::StopBegun const& stop) { stop_begun(now, stop); },
          [&](act::PhaseBegun const& begun) { phase_begun(now, begun); },
          [&](act::PhaseEnded const& ended) { phase_ended(ended); },
          [&](act::VerdictChanged const& changed) { verdict_changed(changed); },
          [&](act::GracefulEndpoints const& endpoints) {
            log_.info("Active graceful endpoints: " + std::to_string(endpoints.active),
                      {in_flight_of(core_), {"left_ms", left_ms(core_, now)}});
          },
          [&](act::LastEndpointCompleted const&) {
            log_.info("Last endpoint completed, notifying all waiters");
          },
          [&](act::SignalIgnored const& ignored) {
            log_.write(ignored.first ? telemetry::LogLevel::warning : telemetry::LogLevel::debug,
                       "signal ignored: a stop is under way", {{"signal", ignored.name}});
          },
          [&](act::DrainAborted const& aborted) {
            log_.critical("drain aborted", {{"cause", aborted.cause}, {"detail", aborted.detail}});
          },
          [&](act::SignalEngine const& order) {
            log_.info("engine signalled", {{"signal", order.name},
                                           {"scope", order.all ? "all" : "main"},
                                           {"left_ms", left_ms(core_, now)}});
          },
          [&](act::ReleaseHook const& hook) {
            log_.info("preStop returns", {{"why", hook.why}, {"held_ms", to_ms(hook.held)}});
          },
          [&](act::AwaitReplacement const& await) { engine_awaited(await); },
          [&](act::ReplacementEnded const& replaced) {
            log_.info("stopped waiting for another engine", {{"why", replaced.how}});
          },
          [&](act::BusyChanged const& busy) { load_changed(busy); },
          [&](act::Rearm const&) { log_.info("ready for the next engine"); },
          [](auto const&) {},
      },
      action);
}

void Narrator::engine_awaited(lifecycle::AwaitReplacement const& await) {
  log_.write(await.condemned ? telemetry::LogLevel::critical : telemetry::LogLevel::info,
             await.condemned
                 ? "this engine will not serve again: its liveness probe fails until another "
                   "engine runs"
                 : "waiting for another engine");
}

void Narrator::load_changed(lifecycle::BusyChanged const& changed) {
  if (!changed.excess) {
    log_.info("accepting new requests again: the load is below its thresholds");
    return;
  }
  auto const& [figure, rank, value, threshold] = *changed.excess;
  if (figure == lifecycle::LoadFigure::active_decode_blocks) {
    log_.info("refusing new requests: every rank is above a load threshold",
              {{"figure", name(figure)},
               {"dp_rank", rank},
               {"value", lifecycle::share_text(value)},
               {"threshold", lifecycle::share_text(threshold)}});
  } else {
    log_.info(
        "refusing new requests: every rank is above a load threshold",
        {{"figure", name(figure)}, {"dp_rank", rank}, {"value", value}, {"threshold", threshold}});
  }
}

void Narrator::report(std::string const& json) {
  if (telemetry::Terminal const terminal = log_.terminal(); terminal.is_there) {
    log_.info("drain report", {{"report", report_text(json, terminal.columns)}});
  } else {
    log_.info("drain report", {telemetry::Field::json("report", json)});
  }
  log_.info("lastcall shutdown complete");
}

void Narrator::report_corrected(int code) {
  log_.warning("drain report corrected",
               {{"exit_code", code},
                {"detail", "the shim now reports that the engine had ended before the KILL"}});
}

void Narrator::stop_begun(lifecycle::Instant now, lifecycle::StopBegun const& stop) {
  bool const is_fatal = stop.mode == lifecycle::StopMode::fatal;
  log_.write(is_fatal ? telemetry::LogLevel::critical : telemetry::LogLevel::info,
             is_fatal ? "fatal stop" : "stop begun",
             {{"cause", stop.cause},
              {"detail", stop.detail},
              {"mode", name(stop.mode)},
              {"left_ms", to_ms(stop.deadline - now)},
              in_flight_of(core_)});
}

void Narrator::phase_begun(lifecycle::Instant now, lifecycle::PhaseBegun const& begun) {
  log_.info("phase begun",
            {{"phase", name(begun.phase)}, {"left_ms", left_ms(core_, now)}, in_flight_of(core_)});
}

void Narrator::phase_ended(lifecycle::PhaseEnded const& ended) {
  bool const is_good = ended.outcome == lifecycle::PhaseOutcome::completed ||
                       ended.outcome == lifecycle::PhaseOutcome::skipped;
  log_.write(is_good ? telemetry::LogLevel::info : telemetry::LogLevel::warning, "phase ended",
             {{"phase", name(ended.phase)},
              {"outcome", name(ended.outcome)},
              {"elapsed_ms", to_ms(ended.elapsed)},
              {"left_ms", ended.left ? std::optional(to_ms(*ended.left)) : std::nullopt},
              in_flight_of(core_, ended.in_flight)});
}

void Narrator::verdict_changed(lifecycle::VerdictChanged const& changed) {
  bool const is_bad =
      changed.verdict == lifecycle::Verdict::dead || changed.verdict == lifecycle::Verdict::wedged;
  bool const is_silent = changed.verdict == lifecycle::Verdict::unresponsive;
  log_.write(is_bad      ? telemetry::LogLevel::critical
             : is_silent ? telemetry::LogLevel::warning
                         : telemetry::LogLevel::info,
             "engine health", {{"verdict", name(changed.verdict)}, {"reason", changed.reason}});
}

}  // namespace lastcall::runtime
