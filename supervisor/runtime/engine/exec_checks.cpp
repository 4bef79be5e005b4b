#include "supervisor/runtime/engine/exec_checks.hpp"

#include <string>
#include <string_view>

#include <boost/asio/post.hpp>

namespace lastcall::runtime {
namespace {

/// `output` is the last line that the command wrote, which usually contains the reason.
probes::CheckOutcome outcome_of(ChildExit const& exit, std::string const& output) {
  if (exit.is_success()) {
    return {.result = probes::CheckResult::passed};
  }
  std::string const why = exit.text() + (output.empty() ? "" : ": " + output);
  if (exit.timed_out) {
    return {.result = probes::CheckResult::timed_out, .detail = why};
  }
  // A check that cannot be started shows a fault of the supervisor, not of the engine.
  bool const is_answer = exit.problem.empty();
  return {
      .result = is_answer ? probes::CheckResult::failed_definite : probes::CheckResult::not_asked,
      .status = exit.code,
      .detail = why};
}

}  // namespace

std::unique_ptr<probes::Check> ExecChecks::make(config::ExecCheck const& exec,
                                                probes::Duration timeout) {
  // The check asks and the child answers. Each needs the other, and the runner owns the check.
  auto const child = std::make_shared<std::unique_ptr<ChildProcess>>();
  auto const check = std::make_shared<probes::AskedCheck*>(nullptr);
  auto const output = std::make_shared<std::string>();
  children_.push_back(child);
  auto made = std::make_unique<probes::AskedCheck>(
      executor_, [executor = executor_, command = exec.command, timeout, child, check, output] {
        if (*child && !(*child)->is_gone()) {
          boost::asio::post(executor, [check] {
            (*check)->answered({.result = probes::CheckResult::timed_out,
                                .detail = "its last run was killed and has not ended"});
          });
          return std::string{};
        }
        output->clear();
        *child = std::make_unique<ChildProcess>(
            executor,
            ChildPlan{.command = command,
                      .timeout = timeout,
                      .on_line = [output](std::string_view line) { *output = line; },
                      .leaves_nothing = true},
            [check, output](ChildExit const& exit) {
              (*check)->answered(outcome_of(exit, *output));
            });
        return std::string{};
      });
  *check = made.get();
  return made;
}

void ExecChecks::cancel() {
  for (auto const& child : children_) {
    if (*child) {
      (*child)->cancel();
    }
  }
}

}  // namespace lastcall::runtime
