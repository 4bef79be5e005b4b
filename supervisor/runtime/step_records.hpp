// What is recorded of the core's steps: logged, counted, and published as events.
//
// Rules:
//  1. Each order of the core is counted, then narrated in the log, then published.
//  2. step_log.hpp writes the log of inputs, from which a run can be replayed.
//
// Thread rule: the loop's thread. Source: specification, 'Architecture'.
#pragma once

#include <span>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "discovery/instance.hpp"
#include "probes/metrics/metrics.hpp"
#include "supervisor/runtime/loop/slow_steps.hpp"
#include "supervisor/runtime/record/narrator.hpp"
#include "supervisor/runtime/record/step_log.hpp"
#include "supervisor/runtime/registries/event_publisher.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class StepRecords {
 public:
  StepRecords(boost::asio::any_io_executor const& executor, config::Config const& config,
              discovery::Instance const& instance, lifecycle::Lifecycle const& core,
              probes::Metrics& metrics, telemetry::Log& log);

  void starts(lifecycle::Settings const& settings) { log_.starts(settings); }
  /// The core has made a step, which step() will record.
  void step_made() { log_.step_made(); }
  void step(lifecycle::Instant now, lifecycle::Event const& event,
            std::span<lifecycle::Action const> actions) {
    log_.step(now, event, actions);
  }
  void action(lifecycle::Instant now, lifecycle::Action const& action);
  /// A peer took `ids` cancels from the core's list, of at most `most`.
  void cancels_taken(lifecycle::PeerId peer, std::size_t most, std::size_t ids) {
    log_.taken(peer, most, ids);
  }
  void took(std::string_view what, SlowSteps::Clock::time_point began,
            SlowSteps::Clock::time_point ended) {
    slow_steps_.took(what, began, ended);
  }

  Narrator& narrator() { return narrator_; }
  EventPublisher& events() { return events_; }

 private:
  probes::Metrics& metrics_;
  StepLog log_;
  Narrator narrator_;
  SlowSteps slow_steps_;
  EventPublisher events_;
};

}  // namespace lastcall::runtime
