#include "shim/shim.hpp"

#include <algorithm>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "shim/actions.hpp"
#include "shim/children.hpp"
#include "shim/leaving.hpp"
#include "shim/log.hpp"
#include "shim/orders.hpp"
#include "shim/signals.hpp"
#include "shim/spawn.hpp"
#include "shim/tree_rules.hpp"

namespace lastcall::shim {
namespace {

constexpr std::size_t kSignalBatch = 8;

/// Instants are whole milliseconds, like epoll's timeout, so the loop wakes neither early nor in a
/// busy loop.
int timeout_until(std::optional<Instant> at, Instant now) {
  constexpr std::int64_t kLongest = 24 * 3'600'000;
  if (!at) {
    return -1;
  }
  std::int64_t const ms = (*at - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, kLongest));
}

std::optional<Instant> next_wake(Parts const& s) {
  std::optional<Due> const due = next_due(situation(s), s.clock);
  std::optional<Instant> soonest = due ? std::optional(due->at) : std::nullopt;
  for (std::optional<Instant> const& each :
       {s.link.next_wake(s.now), s.service.next_wake(), s.vigil.next_wake(), s.revival.next_wake(),
        next_pass(s), s.watch.next_look()}) {
    soonest = earlier_of(soonest, each);
  }
  return soonest;
}

}  // namespace

Shim::Shim(Options const& options, Launch& launch, int signals, char* const* environment)
    : parts_(options, launch, environment), signals_(signals) {}

int Shim::run() {
  Parts& s = parts_;
  if (std::optional<int> const failure = begin()) {
    return *failure;
  }
  while (!has_left(s)) {
    wait();
    take_signals();
    talk(s, link_is_readable_);  // before reaping, because a supervisor's last line may be `exit`
    reap(s);
    heed_exit_order(s);
    tend_children(s);
    apply_due_rules(s);
    s.link.send(s.now);  // so that a signal is reported before a walk
    s.watch.tend(s.now, s.service.pid());
    report_news(s);
    tend_tree(s);
    s.link.send(s.now);
  }
  return finish(s);
}

/// Returns a code if nothing was started, and nothing will be.
std::optional<int> Shim::begin() {
  Parts& s = parts_;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = signals_;
  if (s.epoll < 0 || signals_ < 0 || epoll_ctl(s.epoll, EPOLL_CTL_ADD, signals_, &event) != 0) {
    LogLine() << "cannot wait for signals: " << error_text(errno);
    return kExitFatal;
  }
  if (int const error = check_program(s.options.command[0]); error != 0) {
    LogLine() << "cannot run " << s.options.command[0] << ": " << error_text(error);
    return exec_failure_code(error);
  }
  s.launch.leave_directory();
  reap(s);  // for a child that ended before SIGCHLD was blocked, there was no signal
  if (s.service.exists()) {
    if (int const error = s.service.start(s.launch, s.now); error != 0) {
      LogLine() << "cannot start the supervisor " << s.options.serve << ": " << error_text(error);
      return exec_failure_code(error);
    }
    s.vigil.begin(s.now);
  }
  if (!s.options.supervised()) {
    happen(s, Event::start_order);
  }
  return std::nullopt;
}

void Shim::wait() {
  Parts& s = parts_;
  constexpr int kSources = 3;
  epoll_event events[kSources];
  link_is_readable_ = false;
  int const count =
      epoll_wait(s.epoll, events, kSources, timeout_until(next_wake(s), monotonic_now()));
  for (int i = 0; i < count; ++i) {
    link_is_readable_ |= events[i].data.fd != signals_ && !s.watch.is_own(events[i].data.fd);
  }
  s.now = monotonic_now();
}

void Shim::take_signals() {
  signalfd_siginfo batch[kSignalBatch];
  for (;;) {
    ssize_t const size = read(signals_, batch, sizeof batch);
    if (size <= 0) {
      return;
    }
    std::size_t const count = static_cast<std::size_t>(size) / sizeof batch[0];
    for (std::size_t i = 0; i < count; ++i) {
      take_signal(parts_, static_cast<int>(batch[i].ssi_signo),
                  static_cast<pid_t>(batch[i].ssi_pid), batch[i].ssi_code);
    }
    if (count < kSignalBatch) {
      // No signal waits; another read to prove that would cost time for each forwarded signal.
      return;
    }
  }
}

}  // namespace lastcall::shim
