#include "supervisor/runtime/host/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace lastcall::runtime {
namespace {

using namespace std::chrono_literals;

struct Ran {
  std::optional<ChildExit> exit;
  std::vector<std::string> lines;
};

Ran run(std::vector<std::string> command, std::chrono::milliseconds timeout = 20s) {
  boost::asio::io_context io(1);
  Ran result;
  ChildProcess const child(
      io.get_executor(),
      {.command = std::move(command),
       .timeout = timeout,
       .on_line = [&](std::string_view line) { result.lines.emplace_back(line); }},
      [&](ChildExit const& exit) { result.exit = exit; });
  EXPECT_FALSE(result.exit) << "done is called later, from the loop";
  io.run();
  EXPECT_TRUE(result.exit);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a zombie is left";
  EXPECT_EQ(errno, ECHILD);
  return result;
}

TEST(ChildProcess, It_tells_code_signal_and_output) {
  EXPECT_TRUE(run({"/bin/true"}).exit->is_success());
  EXPECT_EQ(run({"/bin/sh", "-c", "exit 3"}).exit->text(), "exit code 3");
  EXPECT_EQ(run({"/bin/sh", "-c", "kill -SEGV $$"}).exit->text(), "signal 11");
  EXPECT_EQ(run({"/bin/sh", "-c", "echo a; echo b >&2; printf c"}).lines,
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST(ChildProcess, What_cannot_be_started_says_why) {
  std::string const text = run({"/does/not/exist"}).exit->text();
  EXPECT_NE(text.find("/does/not/exist"), std::string::npos);
  EXPECT_NE(text.find("No such file"), std::string::npos);
}

TEST(ChildProcess, At_the_deadline_the_whole_group_is_killed) {
  Ran const slow = run({"/bin/sh", "-c", "trap '' TERM; sleep 3600"}, 50ms);
  EXPECT_TRUE(slow.exit->timed_out);
  EXPECT_FALSE(slow.exit->is_success());
}

TEST(ChildProcess, At_the_deadline_those_in_sessions_of_their_own_are_killed_too) {
  Ran const slow = run({"/bin/sh", "-c", "setsid sleep 3600 & echo $!; wait"}, 500ms);
  EXPECT_TRUE(slow.exit->timed_out);
  ASSERT_EQ(slow.lines.size(), 1U);
  pid_t const stray = std::stoi(slow.lines[0]);
  auto const give_up = std::chrono::steady_clock::now() + 20s;
  while (::kill(stray, 0) == 0 && std::chrono::steady_clock::now() < give_up) {
    std::ifstream stat("/proc/" + std::to_string(stray) + "/stat");
    std::string line;
    std::getline(stat, line);
    if (line.find(") Z ") != std::string::npos) {
      return;  // killed, and not yet reaped by whoever inherited it
    }
  }
  EXPECT_NE(::kill(stray, 0), 0);
}

TEST(ChildProcess, It_does_not_wait_for_those_that_it_left_behind_with_its_output) {
  EXPECT_TRUE(run({"/bin/sh", "-c", "setsid sleep 2 & echo done"}).exit->is_success());
}

TEST(ChildProcess, One_that_it_left_behind_may_write_faster_than_we_read) {
  Ran const ran =
      run({"/bin/sh", "-c", "setsid yes & until [ \"$(cat /proc/$!/comm)\" = yes ]; do :; done"});
  EXPECT_TRUE(ran.exit->is_success());
}

TEST(ChildProcess, It_gets_default_signals_and_no_descriptor_of_ours) {
  std::signal(SIGPIPE, SIG_IGN);
  Ran const fds = run({"/bin/sh", "-c", "echo $(ls /proc/self/fd | wc -l); kill -PIPE $$"});
  EXPECT_EQ(fds.lines, std::vector<std::string>{"4"});  // 0, 1, 2, and what ls reads
  EXPECT_EQ(fds.exit->signal, SIGPIPE);
}

TEST(ChildProcess, After_cancel_nothing_is_called_and_nothing_is_left) {
  boost::asio::io_context io(1);
  bool is_called = false;
  ChildProcess child(io.get_executor(),
                     {.command = {"/bin/sleep", "3600"}, .timeout = 20s, .on_line = {}},
                     [&](ChildExit const&) { is_called = true; });
  child.cancel();
  io.run();
  EXPECT_FALSE(is_called);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace lastcall::runtime
