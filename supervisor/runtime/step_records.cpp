#include "supervisor/runtime/step_records.hpp"

#include "supervisor/runtime/listener/metrics_feed.hpp"

namespace lastcall::runtime {

StepRecords::StepRecords(boost::asio::any_io_executor const& executor, config::Config const& config,
                         discovery::Instance const& instance, lifecycle::Lifecycle const& core,
                         probes::Metrics& metrics, telemetry::Log& log)
    : metrics_(metrics),
      log_(log),
      narrator_(core, log),
      slow_steps_(log, [this](std::string_view event) { metrics_.supervisor().slow_step(event); }),
      events_(executor, config, instance, core, log) {}

void StepRecords::action(lifecycle::Instant now, lifecycle::Action const& action) {
  count(metrics_, action);
  narrator_.narrate(now, action);
  events_.report(now, action);
}

}  // namespace lastcall::runtime
