#include "supervisor/runtime/host/child_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.hpp"

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

TEST(ChildProcess, It_reports_code_signal_and_output) {
  EXPECT_TRUE(run({"/bin/true"}).exit->is_success());
  EXPECT_EQ(run({"/bin/sh", "-c", "exit 3"}).exit->text(), "exit code 3");
  EXPECT_EQ(run({"/bin/sh", "-c", "kill -SEGV $$"}).exit->text(), "signal 11");
  EXPECT_EQ(run({"/bin/sh", "-c", "echo a; echo b >&2; printf c"}).lines,
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST(ChildProcess, A_program_that_cannot_be_started_is_reported_with_the_reason) {
  std::string const text = run({"/does/not/exist"}).exit->text();
  EXPECT_NE(text.find("/does/not/exist"), std::string::npos);
  EXPECT_NE(text.find("No such file"), std::string::npos);
}

TEST(ChildProcess, A_file_that_may_not_be_executed_is_reported_and_leaves_no_zombie) {
  EXPECT_NE(run({"/etc/passwd"}).exit->text().find("Permission denied"), std::string::npos);
}

TEST(ChildProcess, A_name_is_looked_up_in_PATH_and_stays_the_programs_name) {
  EXPECT_EQ(run({"sh", "-c", "echo $0; tr '\\0' '\\n' < /proc/$$/cmdline | head -n 1"}).lines,
            (std::vector<std::string>{"sh", "sh"}));
  EXPECT_NE(run({"no-such-program-anywhere"}).exit->text().find("No such file"), std::string::npos);
}

/// Only in a copy of this process, which a failed exec must not let run to its end.
int end_seen_by_a_copy = -1;
pid_t const this_process = ::getpid();

TEST(ChildProcess, A_failed_exec_does_not_end_the_copy_as_if_it_were_this_program) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK), 0);
  end_seen_by_a_copy = pipe[1];
  ASSERT_EQ(std::atexit([] {
              if (::getpid() != this_process) {
                [[maybe_unused]] auto const written = ::write(end_seen_by_a_copy, "x", 1);
              }
            }),
            0);
  EXPECT_FALSE(run({"/does/not/exist"}).exit->is_success());
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
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
      return;  // killed, and not yet reaped by the process that inherited it
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
  // Without FD_CLOEXEC, below and above what the launch itself opens.
  Descriptor const low(::open("/dev/null", O_RDONLY));
  Descriptor const high(::fcntl(low.get(), F_DUPFD, 900));
  ASSERT_TRUE(low && high);
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
