#include "shim/shim.hpp"

#include <algorithm>

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "shim/log.hpp"
#include "shim/spawn.hpp"

namespace lastcall::shim {
namespace {

constexpr std::size_t kSignalBatch = 8;

void append_random_id(Text& out) {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number = static_cast<std::uint64_t>(to_ms(monotonic_now())) << 22 |
             static_cast<std::uint64_t>(getpid());
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) {
    out << kHex.substr(number >> shift & 15, 1);
  }
}

/// Epoll takes whole milliseconds; never early, never a busy loop.
int timeout_until(std::optional<Instant> at, Instant now) {
  constexpr std::int64_t kLongest = 24 * 3'600'000;
  if (!at) {
    return -1;
  }
  std::int64_t const ms = (*at - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, kLongest));
}

}  // namespace

Shim::Shim(Options const& options, Launch& launch, int signals, char* const* environment)
    : options_(options),
      launch_(launch),
      signals_(signals),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      now_(monotonic_now()),
      began_at_(now_),
      engine_(options, engine_environment(environment, options.socket)),
      service_(options.serve != nullptr ? options.serve_argv : nullptr, environment),
      link_(options.socket, epoll_),
      clock_(options.grace, options.pod_grace, options.rest_grace) {
  append_random_id(boot_);
}

int Shim::run() {
  if (std::optional<int> const failure = begin()) {
    return *failure;
  }
  while (!has_left()) {
    wait();
    take_signals();
    talk();  // before reaping: the last words of a supervisor that has just ended may be `exit`
    reap();
    if (service_.restart_if_due(launch_, now_)) {
      rest_.note_childless(false);
      link_.look_eagerly(now_);
    }
    revive_if_due();
    watch_service();
    apply_due_rules();
    watch_.tend(now_, service_.pid());
    tell_news();
    tend_tree();
    link_.send(now_);
  }
  return finish();
}

/// A code: nothing was started, and nothing will be.
std::optional<int> Shim::begin() {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = signals_;
  if (epoll_ < 0 || signals_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, signals_, &event) != 0) {
    LogLine() << "cannot wait for signals: " << error_text(errno);
    return kExitFatal;
  }
  if (int const error = check_program(options_.command[0]); error != 0) {
    LogLine() << "cannot run " << options_.command[0] << ": " << error_text(error);
    return exec_failure_code(error);
  }
  launch_.leave_directory();
  reap();  // who ended before SIGCHLD was blocked has told nobody
  if (service_.exists()) {
    if (int const error = service_.start(launch_, now_); error != 0) {
      LogLine() << "cannot start the supervisor " << options_.serve << ": " << error_text(error);
      return exec_failure_code(error);
    }
  }
  if (!options_.supervised()) {
    happen(Event::start_order);
  }
  return std::nullopt;
}

void Shim::wait() {
  constexpr int kSources = 3;
  epoll_event events[kSources];
  link_readable_ = false;
  int const count =
      epoll_wait(epoll_, events, kSources, timeout_until(next_wake(), monotonic_now()));
  for (int i = 0; i < count; ++i) {
    link_readable_ |= events[i].data.fd != signals_ && !watch_.is_own(events[i].data.fd);
  }
  now_ = monotonic_now();
}

std::optional<Instant> Shim::next_wake() const {
  std::optional<Instant> soonest;
  auto const consider = [&](std::optional<Instant> at) {
    if (at && (!soonest || *at < *soonest)) {
      soonest = at;
    }
  };
  if (std::optional<Due> const due = next_due(situation(), clock_)) {
    consider(due->at);
  }
  consider(link_.next_wake(now_));
  consider(service_.next_wake());
  consider(vigil_.next_wake());
  consider(revival_.next_wake());
  consider(next_pass());
  consider(watch_.next_look());
  return soonest;
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
      take_signal(static_cast<int>(batch[i].ssi_signo), static_cast<pid_t>(batch[i].ssi_pid),
                  batch[i].ssi_code);
    }
    if (count < kSignalBatch) {
      return;  // nothing waits: a read that says so would cost every forwarded signal
    }
  }
}

void Shim::take_signal(int signal, pid_t sender, int code) {
  bool const own_broken_pipe = signal == SIGPIPE && sender == getpid();
  if (signal == SIGCHLD || own_broken_pipe || SignalPolicy::is_own_fault(signal, code)) {
    return;
  }
  if (options_.supervised() && options_.signals.is_stop(signal)) {
    return take_stop_signal(signal, sender);
  }
  if (options_.restarts && options_.signals.is_stop(signal) && revival_.give_up()) {
    return happen(Event::engine_ended);  // it has ended already, and nobody starts it again
  }
  engine_.send(options_.signals.for_engine(signal));
}

void Shim::take_stop_signal(int signal, pid_t sender) {
  if (stop_signal_ == 0) {
    stop_signal_ = signal;
    stop_signal_at_ = now_;
    TextOf<16> name;
    append_signal_name(name, signal);
    LogLine line;
    line << "got " << name.view();
    if (sender == 0) {
      line << " from outside the container";
    } else {
      line << " from process " << sender;
    }
  }
  clock_.begin(now_);
  link_.send_signal(now_, signal);
  service_.hurry(now_);
  happen(Event::stop_signal);
}

void Shim::reap() {
  for (;;) {
    int status = 0;
    pid_t const pid = waitpid(-1, &status, WNOHANG | (watch_.is_on() ? WUNTRACED : 0));
    if (pid <= 0) {
      rest_.note_childless(pid < 0 && errno == ECHILD);
      return;
    }
    if (WIFSTOPPED(status)) {
      watch_.stopped(pid, now_);
      continue;
    }
    rest_.reaped(pid, pid != engine_.pid() && pid != service_.pid());
    Ending const ending = ending_from_status(status);
    watch_.reaped(pid, ending, now_);
    if (engine_.reaped(pid, ending, now_)) {
      engine_ended(ending);
    } else if (service_.reaped(pid)) {
      service_ended(ending);
    } else {
      ++orphans_reaped_;
    }
  }
}

void Shim::engine_ended(Ending ending) {
  if (options_.restarts && state_ == State::running && revival_.wants(ending, now_)) {
    LogLine() << options_.command[0] << " ended with " << (ending.signal != 0 ? "signal " : "code ")
              << (ending.signal != 0 ? ending.signal : ending.code) << ": starting it again"
              << (revival_.next_wake() == now_ ? "" : " after a pause");
    return;
  }
  happen(Event::engine_ended);
}

/// What it wrote before its end comes first: an order to exit is no crash.
void Shim::service_ended(Ending ending) {
  vigil_.end();
  hear_last_words();
  bool const refuses = state_ == State::waiting && link_.standing(now_) == Standing::never &&
                       service_.is_refusal(ending);
  return refuses ? refuse_start(ending) : service_.ended(ending, now_);
}

void Shim::revive_if_due() {
  if (!revival_.is_due(now_)) {
    return;
  }
  if (int const error = engine_.start(launch_, now_); error != 0) {
    LogLine() << "cannot run " << options_.command[0] << ": " << error_text(error);
    revival_.wants({.code = exec_failure_code(error), .signal = 0}, now_);
    return;
  }
  revival_.began(now_);
  rest_.note_childless(false);
}

/// A supervisor of our own that answers nothing any more cannot be waited for.
void Shim::watch_service() {
  if (!service_.is_running() || !link_.connected() || state_ == State::leaving) {
    return vigil_.end();
  }
  switch (vigil_.look(now_)) {
    case Vigil::Need::nothing:
      return;
    case Vigil::Need::ask:
      return link_.send_ping();
    case Vigil::Need::give_up:
      LogLine() << "the supervisor has answered nothing for 20 s: KILL, it is started again";
      kill(service_.pid(), SIGKILL);
      return vigil_.end();
  }
}

Situation Shim::situation() const {
  return {.state = state_,
          .standing = link_.standing(now_),
          .start_due = began_at_ + options_.supervisor_timeout,
          .engine_ended_at = ended_at_,
          .engine_ordered = engine_.facts().ordered,
          .died_of_stop_signal = engine_.died_of(rest_signal()),
          .tree_ended_at = tree_ended_at_};
}

void Shim::apply_due_rules() {
  note_standing();
  for (;;) {
    std::optional<Due> const due = next_due(situation(), clock_);
    if (!due || now_ < due->at) {
      return;
    }
    happen(due->event);
  }
}

void Shim::note_standing() {
  Standing const standing = link_.standing(now_);
  if (state_ == State::leaving) {
    return;  // its end was expected
  }
  if (standing == Standing::gone && last_standing_ == Standing::present) {
    LogLine() << "the supervisor is gone";
  } else if (standing == Standing::present && last_standing_ == Standing::gone) {
    LogLine() << "the supervisor is back";
  }
  last_standing_ = standing;
}

}  // namespace lastcall::shim
