// The checks that run a command: each asks by starting a child, and the child's end answers.
//
// Rules:
//  1. A check has one child at a time; while a killed one has not ended, the answer is a timeout.
//  2. A command that cannot be started shows a fault of the supervisor, not of the engine.
//
// Thread rule: the loop's thread. Source: specification, 'Checks'.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "config/schema.hpp"
#include "probes/checks/check.hpp"
#include "supervisor/runtime/host/child_process.hpp"

namespace lastcall::runtime {

class ExecChecks {
 public:
  /// The time from the KILL of a child to its end.
  static constexpr probes::Duration kKillWait{1'000};

  explicit ExecChecks(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  std::unique_ptr<probes::Check> make(config::ExecCheck const& exec, probes::Duration timeout);
  /// Ends all children.
  void cancel();

 private:
  boost::asio::any_io_executor executor_;
  std::vector<std::shared_ptr<std::unique_ptr<ChildProcess>>> children_;
};

}  // namespace lastcall::runtime
