// Carries out the items of phase 3 when the core orders them, and reports how each of them ended.
//
// Rules:
//  1. Each item that is started here is settled once, with a record in the log. The SDKs settle
//     theirs themselves, and the core ends the engine by ordering signals.
//  2. Files are removed on a thread of their own, because that can block.
//
// Thread rule: the loop's thread. Source: specification, 'Phase 3'.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "core/action.hpp"
#include "discovery/job_thread.hpp"
#include "supervisor/runtime/cleanup/cleanup_hooks.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class CleanupItems {
 public:
  /// The items that other parts carry out.
  struct Others {
    std::function<void(lifecycle::Instant deadline)> sdk;
    std::function<void(lifecycle::Instant deadline, CleanupHooks::Done done)> events;
    std::function<void(lifecycle::Instant deadline, CleanupHooks::Done done)> registries;
  };

  /// `kept` are the paths that `cleanup.paths` never removes.
  CleanupItems(boost::asio::any_io_executor const& executor, config::Cleanup const& cleanup,
               std::vector<std::string> kept, EventSink& events, telemetry::Log& log,
               Others others);

  void start(lifecycle::StartCleanup const& order);
  /// Ends the hook that runs.
  void cancel() { hooks_.cancel(); }

 private:
  void remove_files(lifecycle::Instant deadline, CleanupHooks::Done done);
  void settle(lifecycle::CleanupItem item, ItemResult result);

  EventSink& events_;
  telemetry::Log& log_;
  Others const others_;
  std::vector<std::string> const paths_;
  std::vector<std::string> const kept_;
  CleanupHooks hooks_;
  discovery::JobThread thread_;
};

}  // namespace lastcall::runtime
