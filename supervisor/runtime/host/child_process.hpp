// One command that the supervisor runs: a cleanup hook or an exec check.
//
// Invariants:
//  1. It is the leader of its own process group and reads /dev/null. It has an empty signal mask,
//     default signal actions, none of the supervisor's descriptors, and the limit on descriptors
//     that the supervisor was started with. Its output is delivered line by line.
//  2. At the deadline the whole group gets KILL, and so do its descendants in sessions of their
//     own. A group is signalled only while its leader has not been reaped, because until then no
//     other group can have its number.
//  3. `done` is called exactly once, later, from the loop, and soon after the deadline even if the
//     leader cannot be killed. It is never called after cancel(). cancel() and the destructor kill
//     the group.
//  4. Nothing blocks on a process: the running loop reaps the leader when it ends.
//
// Thread rule: the loop's thread. Source: launch.hpp, pidfd_open(2), waitid(2); if a sandbox
// refuses pidfd_open, the end is found by polling.
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
  std::string problem;  // why it could not be started; empty if it was
  int code = 0;
  int signal = 0;  // the signal that ended it; 0 if none did
  bool timed_out = false;

  bool is_success() const { return problem.empty() && !timed_out && signal == 0 && code == 0; }
  /// A description, such as "exit code 3", "killed after 2000 ms", "signal 11" or "cannot start /x:
  /// no such file".
  std::string text() const;
};

struct ChildPlan {
  std::vector<std::string> command;
  std::chrono::milliseconds timeout{};
  std::function<void(std::string_view line)> on_line;  // may be empty
  /// Whether the processes that remain in the group when its leader ends are killed, too.
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
  /// Whether its leader has ended and was reaped, or was never started.
  bool is_gone() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::runtime
