#include "sdk/cpp/child_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals_blocked.hpp"
#include "sdk/cpp/fork_watch.hpp"

namespace lastcall::sdk {
namespace {

std::system_error cannot(std::string const& what, int number) {
  return {number, std::generic_category(), "cannot " + what};
}

/// Whether the child exited with 0, or ended in the way in which it is stopped on purpose.
bool is_fine(siginfo_t const& end) {
  return end.si_code == CLD_EXITED ? end.si_status == 0 : end.si_status == SIGTERM;
}

std::string how(siginfo_t const& end) {
  if (end.si_code == CLD_EXITED) {
    return "exited with " + std::to_string(end.si_status);
  }
  char const* const name = ::sigabbrev_np(end.si_status);
  return "was ended by " +
         (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(end.si_status));
}

}  // namespace

ChildWatch::ChildWatch(Report report)
    : report_(std::move(report)),
      generation_(fork_generation()),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_) {
    throw cannot("watch child processes", errno);
  }
  SignalsBlocked const inherited;
  if (int const problem = ::pthread_create(&thread_, nullptr, run, this); problem != 0) {
    throw cannot("start the thread that watches child processes", problem);
  }
}

ChildWatch::~ChildWatch() {
  if (generation_ != fork_generation()) {
    return;  // the thread does not exist in the child
  }
  {
    std::lock_guard const lock(mutex_);
    is_closed_ = true;
  }
  wake();
  ::pthread_join(thread_, nullptr);
}

void ChildWatch::add(pid_t pid, std::string name, bool any_end) {
  // The system call is made by its number, because glibc has a wrapper only from 2.36 on.
  Child child{Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))), pid, std::move(name),
              any_end};
  if (!child.process) {
    if (errno != ESRCH) {
      throw cannot("watch " + child.name, errno);
    }
    ended(child);
    return;
  }
  {
    std::lock_guard const lock(mutex_);
    children_.push_back(std::move(child));
  }
  wake();
}

bool ChildWatch::forget(pid_t pid) {
  std::lock_guard const lock(mutex_);
  return std::erase_if(children_, [pid](Child const& each) { return each.pid == pid; }) > 0;
}

void ChildWatch::wake() const {
  ::eventfd_write(bell_.get(), 1);
}

void* ChildWatch::run(void* watch) {
  static_cast<ChildWatch*>(watch)->loop();
  return nullptr;
}

void ChildWatch::loop() {
  while (true) {
    std::vector<pollfd> watched{{bell_.get(), POLLIN, 0}};
    {
      std::lock_guard const lock(mutex_);
      if (is_closed_) {
        return;
      }
      for (Child const& each : children_) {
        watched.push_back({each.process.get(), POLLIN, 0});
      }
    }
    ::poll(watched.data(), watched.size(), -1);
    eventfd_t rings = 0;
    ::eventfd_read(bell_.get(), &rings);
    for (Child const& child : take_ended()) {
      ended(child);
    }
  }
}

/// Polls again, because a descriptor that was polled may have been closed and its number reused.
std::vector<ChildWatch::Child> ChildWatch::take_ended() {
  std::vector<Child> gone;
  std::lock_guard const lock(mutex_);
  if (is_closed_) {
    return gone;
  }
  auto const first = std::stable_partition(children_.begin(), children_.end(), [](Child& each) {
    pollfd asked{each.process.get(), POLLIN, 0};
    return ::poll(&asked, 1, 0) != 1;
  });
  gone.assign(std::make_move_iterator(first), std::make_move_iterator(children_.end()));
  children_.erase(first, children_.end());
  return gone;
}

void ChildWatch::ended(Child const& child) const {
  siginfo_t end{};
  bool const is_known = child.process &&
                        ::waitid(P_PIDFD, static_cast<id_t>(child.process.get()), &end,
                                 WEXITED | WNOHANG | WNOWAIT) == 0 &&
                        end.si_pid != 0;
  if (child.any_end || (is_known && !is_fine(end))) {
    report_(child.name + " died", "pid " + std::to_string(child.pid) + " " +
                                      (is_known ? how(end) : "ended in an unknown way"));
  }
}

}  // namespace lastcall::sdk
