#include "probes/metrics/process_metrics.hpp"

#include <array>
#include <cstddef>

#include "probes/metrics/metric_series.hpp"

namespace lastcall::probes {

namespace {

constexpr std::array<std::string_view, 3> kProcesses{"engine", "supervisor", "shim"};

constexpr std::string_view word(Restarted what) {
  return kProcesses[static_cast<std::size_t>(what)];
}
static_assert(word(Restarted::shim) == "shim");

}  // namespace

ProcessMetrics::ProcessMetrics(MetricRegistry& registry)
    : signals_(registry.counter("lastcall_signals_total", "signal", "Signals received")),
      restarts_(registry.counter("lastcall_restarts_total", "process",
                                 "Processes that were started again")),
      oom_kills_(
          registry.counter("lastcall_oom_kills_total", "",
                           "Processes of the engine's container killed for lack of memory")) {}

void ProcessMetrics::signal_received(std::string_view signal) {
  signals_.at({signal}).Increment();
}

void ProcessMetrics::restarted(Restarted what) {
  restarts_.at({word(what)}).Increment();
}

void ProcessMetrics::oom_killed(std::uint64_t count) {
  oom_kills_.at({}).Increment(static_cast<double>(count));
}

}  // namespace lastcall::probes
