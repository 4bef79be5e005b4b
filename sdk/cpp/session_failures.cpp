// The other ways to report to the supervisor that the engine is dead: uncaught exceptions, dead
// children.
#include <stdexcept>
#include <utility>

#include "sdk/cpp/session.hpp"
#include "sdk/cpp/uncaught.hpp"

namespace lastcall::sdk {

void Session::watch_child(int pid, std::string name, bool any_end) {
  if (pid <= 0) {
    throw std::invalid_argument("cannot watch process " + std::to_string(pid) +
                                ": expected the id of a child");
  }
  if (!is_enabled()) {
    return;
  }
  if (name.empty()) {
    name = "child process";
  }
  std::shared_ptr<ChildWatch> children;
  lock_.locked([&](Later&) {
    if (!children_ && !has_stopped_reporting_) {
      children_ = std::make_shared<ChildWatch>([this](std::string reason, std::string detail) {
        failed(std::move(reason), std::move(detail));
      });
    }
    children = children_;
  });
  if (children) {
    children->add(pid, std::move(name), any_end);
  }
}

bool Session::forget_child(int pid) {
  std::shared_ptr<ChildWatch> children;
  lock_.locked([&](Later&) { children = children_; });
  return children && children->forget(pid);
}

/// Once the supervisor cleans up, ends are intended.
void Session::failed(std::string reason, std::string detail) {
  if (phase_.phase().value_or(Phase::starting) < Phase::cleaning_up) {
    fatal_.report(std::move(reason), std::move(detail));
  }
}

void Session::failed_with_exception(std::string const& name) {
  ipc::Fatal fatal = describe_exception(name + " failed:");
  if (!fatal.reason.empty()) {
    failed(std::move(fatal.reason), std::move(fatal.detail));
  }
}

void Session::stop_reporting() {
  forget_uncaught(this);
  std::shared_ptr<ChildWatch> children;  // its thread may be about to take the mutex
  lock_.locked([&](Later&) {
    has_stopped_reporting_ = true;
    children = std::exchange(children_, nullptr);
  });
}

}  // namespace lastcall::sdk
