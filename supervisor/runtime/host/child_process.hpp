// One command that the supervisor runs: a cleanup hook or an exec check.
//
// Invariants:
//  1. It is the leader of its own process group, reads /dev/null, has an empty signal mask, default
//     signal actions, no descriptor of the supervisor's, and the limit on descriptors that the
//     supervisor was started with; its output is delivered line by line.
//  2. At the deadline the whole group gets KILL, and so do its descendants in sessions of their
//     own. A group is only ever signalled while its leader is not reaped, so that no stranger can
//     have taken the number.
//  3. `done` is called exactly once, later, from the loop, and soon after the deadline even if the
//     leader cannot be killed; after cancel() never. cancel() and the destructor kill the group.
//  4. Nothing waits for a process: the leader is reaped when it ends, by a loop that still runs.
//
// Thread rule: the loop's thread. Source: launch.hpp, pidfd_open(2), waitid(2); where a sandbox
// refuses pidfd_open, the end is polled for.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

namespace lastcall::runtime {

struct ChildExit {
  std::string problem;  // it could not be started; else empty
  int code = 0;
  int signal = 0;  // not 0: ended by this one
  bool timed_out = false;

  bool is_success() const { return problem.empty() && !timed_out && signal == 0 && code == 0; }
  /// "exit code 3", "killed after 2000 ms", "signal 11", "cannot start /x: no such file".
  std::string text() const;
};

struct ChildPlan {
  std::vector<std::string> command;
  std::chrono::milliseconds timeout{};
  std::function<void(std::string_view line)> on_line;  // may be empty
  /// What its leader leaves in the group at its end is killed, too.
  bool leaves_nothing = false;
};

class ChildProcess {
 public:
  using Done = std::function<void(ChildExit const&)>;

  ChildProcess(boost::asio::any_io_executor executor, ChildPlan plan, Done done);
  ~ChildProcess();
  ChildProcess(ChildProcess const&) = delete;
  ChildProcess& operator=(ChildProcess const&) = delete;

  void cancel();
  /// Its leader has ended and was reaped, or never started.
  bool is_gone() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::runtime
