#include "supervisor/runtime/cleanup_hooks.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "supervisor/runtime/clock.hpp"

namespace lastcall::runtime {

void CleanupHooks::run(lifecycle::Instant deadline, Done done) {
  deadline_ = deadline;
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
  ChildPlan plan{.command = hook.command,
                 .timeout = std::clamp(left, lifecycle::Duration{0}, hook.timeout),
                 .on_line = [this, &hook](std::string_view line) {
                   log_.info("hook output", {{"hook", hook.name}, {"line", line}});
                 }};
  child_ = std::make_unique<ChildProcess>(
      executor_, std::move(plan), [this, &hook](ChildExit const& exit) { ended(hook, exit); });
}

void CleanupHooks::ended(config::Hook const& hook, ChildExit const& exit) {
  log_.write(exit.is_success() ? LogLevel::info : LogLevel::warning, "hook ended",
             {{"hook", hook.name}, {"result", exit.text()}});
  if (!exit.is_success()) {
    result_.detail += (result_.detail.empty() ? "" : "; ") + hook.name + ": " + exit.text();
    result_.outcome =
        exit.timed_out ? lifecycle::ItemOutcome::timed_out : lifecycle::ItemOutcome::failed;
  }
  // Not from inside the child's own callback: the next one replaces it.
  boost::asio::post(executor_, [this] { next(); });
}

}  // namespace lastcall::runtime
