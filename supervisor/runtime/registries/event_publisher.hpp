// Publishes events of this instance as JSON messages for any subscriber: phases, the progress of a
// drain, and the verdict about the engine. It is off unless `events.nats.url` is set.
//
// Rules:
//  1. Every message names the instance and the time; docs/discovery.md is the reference.
//  2. Nothing is published between the disconnect of phase 3 and the next rearm.
//  3. While a drain runs, its progress is published whenever the active endpoints change, and also
//     when requests end, but then at most once per kProgressPause.
//
// Thread rule: the loop's thread. Source: specification, 'Discovery'.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "core/action.hpp"
#include "core/lifecycle.hpp"
#include "supervisor/runtime/cleanup/cleanup_hooks.hpp"
#include "telemetry/log.hpp"

namespace lastcall::discovery {
struct Instance;
}
namespace lastcall::ingress {
struct HandedOff;
}

namespace lastcall::runtime {

class EventPublisher {
 public:
  static constexpr lifecycle::Duration kProgressPause{500};

  EventPublisher(boost::asio::any_io_executor executor, config::Config const& config,
                 discovery::Instance const& instance, lifecycle::Lifecycle const& core,
                 telemetry::Log& log);
  ~EventPublisher();
  EventPublisher(EventPublisher const&) = delete;
  EventPublisher& operator=(EventPublisher const&) = delete;

  void report(lifecycle::Instant now, lifecycle::Action const& action);
  void migrated(ingress::HandedOff const& handed);
  /// Disconnects from the server; `done` is called when everything was sent, and by the deadline at
  /// the latest.
  void disconnect(lifecycle::Instant deadline, CleanupHooks::Done done);

 private:
  struct State;
  std::unique_ptr<State> state_;  // null if events are off
};

}  // namespace lastcall::runtime
