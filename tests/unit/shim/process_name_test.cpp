#include "shim/process_name.hpp"

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lastcall::shim {
namespace {

/// A child that has ended and was not reaped: it has a name in the kernel and no command line.
class Ended {
 public:
  Ended() : pid(fork()) {
    if (pid == 0) {
      _exit(0);
    }
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  }
  ~Ended() { waitpid(pid, nullptr, 0); }
  pid_t const pid;
};

ProcessName named(std::string const& text, bool is_title) {
  ProcessName name;
  name.size = static_cast<unsigned char>(text.copy(name.bytes, sizeof name.bytes));
  name.is_title = is_title;
  return name;
}

TEST(ProcessName, A_title_outlives_the_command_line_of_a_process_that_ends) {
  Ended const child;
  ProcessName title = named("VLLM::EngineCore", true);
  title.refresh(child.pid);
  EXPECT_EQ(title.view(), "VLLM::EngineCore");
  EXPECT_TRUE(title.is_title);
  ProcessName other = named("something", false);
  other.refresh(child.pid);
  EXPECT_NE(other.view(), "something") << "what is no title is read anew";
}

TEST(ProcessName, A_name_outlives_its_process) {
  pid_t gone = 0;
  {
    Ended const child;
    gone = child.pid;
  }
  ProcessName name = named("core_0", false);
  name.refresh(gone);
  EXPECT_EQ(name.view(), "core_0");
}

}  // namespace
}  // namespace lastcall::shim
