#include "supervisor/runtime/cleanup/cleanup_hooks.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/clock.hpp"

namespace lastcall::runtime {
namespace {

/// This much of the deadline is reserved for killing a hook that overruns, even one that does not
/// end when it is killed, and for reporting it.
constexpr lifecycle::Duration kReporting{150};

}  // namespace

void CleanupHooks::run(lifecycle::Instant deadline, Done done) {
  // The hooks end a little earlier, so that the names of those that overrun are reported in time.
  lifecycle::Duration const left = deadline - monotonic_now();
  deadline_ = deadline - std::min(kReporting, left / 5);
  done_ = std::move(done);
  index_ = 0;
  result_ = {};
  next();
}

void CleanupHooks::next() {
  if (index_ == hooks_.size()) {
    if (result_.detail.empty()) {
      result_.detail = std::to_string(hooks_.size()) + " ran";
    }
    done_(std::exchange(result_, {}));
    return;
  }
  config::Hook const& hook = hooks_[index_++];
  lifecycle::Duration const left = deadline_ - monotonic_now();
  if (left <= lifecycle::Duration{0}) {
    note(hook, "not started: no time was left", lifecycle::ItemOutcome::timed_out);
    next();
    return;
  }
  ChildPlan plan{.command = hook.command,
                 .timeout = std::min(left, hook.timeout),
                 .on_line = [this](std::string_view line) { output_->line(line); }};
  output_.emplace(log_, hook.name);
  child_ = std::make_unique<ChildProcess>(
      executor_, std::move(plan), [this, &hook](ChildExit const& exit) { ended(hook, exit); });
}

void CleanupHooks::note(config::Hook const& hook, std::string const& what,
                        lifecycle::ItemOutcome outcome) {
  result_.detail += (result_.detail.empty() ? "" : "; ") + hook.name + ": " + what;
  result_.outcome = outcome;
}

void CleanupHooks::ended(config::Hook const& hook, ChildExit const& exit) {
  output_->end();
  log_.write(exit.is_success() ? telemetry::LogLevel::info : telemetry::LogLevel::warning,
             "hook ended", {{"hook", hook.name}, {"result", exit.text()}});
  if (!exit.is_success()) {
    note(hook, exit.text(),
         exit.timed_out ? lifecycle::ItemOutcome::timed_out : lifecycle::ItemOutcome::failed);
  }
  // This must not run inside the child's own callback, because the next child replaces it.
  boost::asio::post(executor_, [this] { next(); });
}

}  // namespace lastcall::runtime
