#include "supervisor/runtime/host/child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error_text.hpp"
#include "supervisor/runtime/host/launch.hpp"
#include "supervisor/runtime/host/process_table.hpp"

namespace lastcall::runtime {
namespace {

using boost::system::error_code;

/// A line longer than this is delivered in pieces.
constexpr std::size_t kLongestLine = 4096;
/// No more output than this can be pending when the process ends: a pipe holds 64 KiB.
constexpr std::size_t kMostWaiting = 64 * 1024;
constexpr std::chrono::milliseconds kPollPeriod{10};
/// A killed process is waited for this long; then its owner is notified that it overran.
constexpr std::chrono::milliseconds kKillPatience{50};
/// A killed process that does not end (because a driver's call never returns) is checked this
/// rarely.
constexpr std::chrono::milliseconds kLongestPollPeriod{1000};

}  // namespace

std::string ChildExit::text() const {
  if (!problem.empty()) {
    return problem;
  }
  if (timed_out) {
    return "killed: it did not end in time";
  }
  return signal != 0 ? "signal " + std::to_string(signal) : "exit code " + std::to_string(code);
}

struct ChildProcess::State : std::enable_shared_from_this<ChildProcess::State> {
  State(boost::asio::any_io_executor const& executor, ChildPlan chosen, Done callback)
      : plan(std::move(chosen)),
        done(std::move(callback)),
        output(executor),
        process(executor),
        timer(executor),
        poll_timer(executor) {}

  void start() {
    std::string const problem = spawn();
    if (!problem.empty()) {
      exit.problem = "cannot start " + plan.command.front() + ": " + problem;
      boost::asio::post(timer.get_executor(), [self = shared_from_this()] { self->finish(); });
      return;
    }
    read();
    if (process.is_open()) {
      process.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](error_code error) {
                           if (!error) {
                             self->ended();
                           }
                         });
    } else {  // the end must be reported after this call
      boost::asio::post(timer.get_executor(), [self = shared_from_this()] { self->ended(); });
    }
    timer.expires_after(plan.timeout);
    timer.async_wait([self = shared_from_this()](error_code error) {
      if (!error && self->pid > 0) {
        self->overran();
      }
    });
  }

  void overran() {
    exit.timed_out = true;
    kill_all();
    timer.expires_after(kKillPatience);
    timer.async_wait([self = shared_from_this()](error_code error) {
      if (!error && self->pid > 0) {
        self->take_rest();
        self->notify();
      }
    });
  }

  std::string spawn() {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
      return error_text(errno);
    }
    Launched const launched = launch(plan.command, pipe[1]);
    ::close(pipe[1]);
    pid = launched.pid;
    if (launched.problem != 0) {
      ::close(pipe[0]);
      return error_text(launched.problem);
    }
    output.assign(pipe[0]);
    output.non_blocking(true);
    // glibc 2.36 declares pidfd_open without extern "C".
    int const watch = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (watch >= 0) {
      process.assign(watch);
    }
    return {};
  }

  /// Needed on old kernels and in sandboxes, in which a process has no descriptor, and for ends
  /// that a debugger has seen before the supervisor.
  void look_again() {
    poll_timer.expires_after(poll_period);
    poll_timer.async_wait([self = shared_from_this()](error_code error) {
      if (!error) {
        self->ended();
      }
    });
    if (is_killed) {
      poll_period = std::min(2 * poll_period, kLongestPollPeriod);
    }
  }

  /// Whether the process must be reaped, or is gone; never waits.
  bool has_ended() const {
    siginfo_t info{};
    return pid > 0 &&
           (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid == pid);
  }

  void kill_all() {
    is_killed = true;
    ::kill(-pid, SIGSTOP);  // the group must start nothing while the list is read
    kill_descendants(pid);
    ::kill(-pid, SIGKILL);
  }

  /// Waits first and reads afterwards: bytes read ahead of their handler would be lost to
  /// take_rest().
  void read() {
    output.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](error_code error) {
                        if (!error && self->output.is_open()) {
                          self->read_what_came();
                        }
                      });
  }

  void read_what_came() {
    error_code error;
    std::size_t const size = output.read_some(boost::asio::buffer(buffer), error);
    take({buffer.data(), size});
    if (!error || error == boost::asio::error::would_block) {
      read();
    }
  }

  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      std::size_t const end = bytes.find('\n');
      line += bytes.substr(0, end);
      if (end != std::string_view::npos || line.size() >= kLongestLine) {
        report_line();
      }
      bytes = end == std::string_view::npos ? std::string_view{} : bytes.substr(end + 1);
    }
  }

  void report_line() {
    if (!line.empty() && plan.on_line && done) {
      plan.on_line(line);
    }
    line.clear();
  }

  /// Takes the output written before the end of the process, but no output of processes that it
  /// left behind.
  void take_rest() {
    error_code error;
    for (std::size_t taken = 0; !error && output.is_open() && taken < kMostWaiting;) {
      std::size_t const size = output.read_some(boost::asio::buffer(buffer), error);
      take({buffer.data(), size});
      taken += size;
    }
    report_line();
    output.close(error);
  }

  void ended() {
    if (pid <= 0) {
      return;
    }
    if (!has_ended()) {
      return look_again();
    }
    siginfo_t info{};
    if (plan.leaves_nothing) {
      ::kill(-pid, SIGKILL);
    }
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) == 0) {
      bool const has_exited = info.si_code == CLD_EXITED;
      (has_exited ? exit.code : exit.signal) = info.si_status;
    }
    pid = 0;
    take_rest();
    finish();
  }

  void finish() {
    error_code ignored;
    timer.cancel();
    poll_timer.cancel();
    process.close(ignored);
    notify();
  }

  void notify() {
    if (done) {
      std::exchange(done, nullptr)(exit);
    }
  }

  /// The process is reaped when it ends, but nothing here waits for that, because a call into a
  /// driver may never return.
  void kill_and_forget() {
    done = nullptr;
    if (pid > 0) {
      kill_all();
    }
    error_code ignored;
    timer.cancel();
    output.close(ignored);
  }

  ChildPlan plan;
  Done done;
  boost::asio::posix::stream_descriptor output;
  boost::asio::posix::stream_descriptor process;
  boost::asio::steady_timer timer;
  boost::asio::steady_timer poll_timer;
  pid_t pid = 0;  // 0 after it was reaped
  bool is_killed = false;
  std::chrono::milliseconds poll_period = kPollPeriod;
  ChildExit exit;
  std::string line;
  std::array<char, 1024> buffer{};
};

ChildProcess::ChildProcess(boost::asio::any_io_executor executor, ChildPlan plan, Done done)
    : state_(std::make_shared<State>(executor, std::move(plan), std::move(done))) {
  state_->start();
}

ChildProcess::~ChildProcess() {
  cancel();
}

void ChildProcess::cancel() {
  state_->kill_and_forget();
}

bool ChildProcess::is_gone() const {
  return state_->pid <= 0;
}

}  // namespace lastcall::runtime
