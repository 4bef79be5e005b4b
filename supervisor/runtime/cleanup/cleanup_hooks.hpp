// Runs the commands of `cleanup.hooks` one after another, within one deadline.
//
// Rules:
//  1. Hooks run in the order of the configuration; if one fails, the next one runs nevertheless.
//  2. Each hook has its own timeout, which ends at the deadline at the latest; its output is logged
//     under its name, up to a limit (HookOutput).
//  3. The result names every hook that failed.
//
// Thread rule: the loop's thread. Source: specification, 'Phase 3'.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "core/event.hpp"
#include "supervisor/runtime/cleanup/hook_output.hpp"
#include "supervisor/runtime/host/child_process.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

struct ItemResult {
  lifecycle::ItemOutcome outcome = lifecycle::ItemOutcome::completed;
  std::string detail;
};

class CleanupHooks {
 public:
  using Done = std::function<void(ItemResult)>;

  CleanupHooks(boost::asio::any_io_executor executor, std::vector<config::Hook> hooks,
               telemetry::Log& log)
      : executor_(std::move(executor)), hooks_(std::move(hooks)), log_(log) {}

  void run(lifecycle::Instant deadline, Done done);
  void cancel() { child_.reset(); }

 private:
  void next();
  void note(config::Hook const& hook, std::string const& what, lifecycle::ItemOutcome outcome);
  void ended(config::Hook const& hook, ChildExit const& exit);

  boost::asio::any_io_executor executor_;
  std::vector<config::Hook> hooks_;
  telemetry::Log& log_;
  lifecycle::Instant deadline_;
  Done done_;
  std::size_t index_ = 0;
  ItemResult result_;
  std::optional<HookOutput> output_;  // of the child
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace lastcall::runtime
