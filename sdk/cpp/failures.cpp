#include "sdk/cpp/failures.hpp"

#include <stdexcept>
#include <utility>

#include "sdk/cpp/uncaught.hpp"

namespace lastcall::sdk {

Failures::~Failures() {
  forget_uncaught(this);
}

void Failures::watch_uncaught(std::string path, ipc::Hello hello) {
  report_uncaught(this, std::move(path), std::move(hello));
}

void Failures::watch_child(int pid, std::string name, bool any_end) {
  if (pid <= 0) {
    throw std::invalid_argument("cannot watch process " + std::to_string(pid) +
                                ": expected the id of a child");
  }
  if (!fatal_.has_socket()) {
    return;
  }
  if (name.empty()) {
    name = "child process";
  }
  std::shared_ptr<ChildWatch> children;
  lock_.locked([&](Later&) {
    if (!children_ && !is_stopped_) {
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

bool Failures::forget_child(int pid) {
  std::shared_ptr<ChildWatch> children;
  lock_.locked([&](Later&) { children = children_; });
  return children && children->forget(pid);
}

void Failures::exception_left(std::string const& name) {
  ipc::Fatal fatal = describe_exception(name + " failed:");
  if (!fatal.reason.empty()) {
    failed(std::move(fatal.reason), std::move(fatal.detail));
  }
}

void Failures::stop() {
  forget_uncaught(this);
  std::shared_ptr<ChildWatch> children;  // its thread may be about to take the mutex
  lock_.locked([&](Later&) {
    is_stopped_ = true;
    children = std::exchange(children_, nullptr);
  });
}

void Failures::failed(std::string reason, std::string detail) {
  if (phase_.phase().value_or(Phase::starting) < Phase::cleaning_up) {
    fatal_.report(std::move(reason), std::move(detail));
  }
}

}  // namespace lastcall::sdk
