#include "supervisor/runtime/host/launch.hpp"

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/process/v2/posix/default_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor_limit.hpp"
#include "base/signals_blocked.hpp"
#include "supervisor/runtime/host/secret_environment.hpp"

namespace lastcall::runtime {
namespace {

namespace process = boost::process::v2;

/// Runs in the child before its exec; the thread that forks has all signals blocked.
class ChildSetup {
 public:
  explicit ChildSetup(std::vector<char*> const& environment)
      : environment_(environment.data()), limit_(original_descriptor_limit()) {}

  process::error_code on_setup(process::posix::default_launcher& launcher,
                               process::filesystem::path const&, char const* const*) const {
    launcher.env = environment_;
    return {};
  }

  process::error_code on_exec_setup(process::posix::default_launcher&,
                                    process::filesystem::path const&, char const* const*) const {
    ::setpgid(0, 0);
    if (limit_) {
      ::setrlimit(RLIMIT_NOFILE, &*limit_);
    }
    close_the_rest_at_exec();
    for (int number = 1; number < NSIG; ++number) {
      ::signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    return {};
  }

  /// The library would call exit(3), which would run this process's exit handlers a second time. It
  /// looks for this member with five arguments but calls it with four.
  template <typename... Arguments>
  [[noreturn]] void on_exec_error(Arguments const&...) const {
    ::_exit(127);
  }

 private:
  /// The library closes descriptors above its own pipe, but none between that pipe and the outputs.
  static void close_the_rest_at_exec() {
    unsigned const first = STDERR_FILENO + 1;
    if (::close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
      return;
    }
    // Fallback before Linux 5.11, or in a sandbox.
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t fd = first; fd < limit.rlim_max; ++fd) {
      ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
    }
  }

  char* const* environment_;
  std::optional<rlimit> limit_;
};

/// Finds the path as execvp(3) does. A name that is not found stays unchanged, so that execve(2)
/// reports it.
std::string path_of(std::string const& program) {
  char const* const path = std::getenv("PATH");
  if (path == nullptr || program.find('/') != std::string::npos) {
    return program;
  }
  std::string_view rest = path;
  for (bool is_last = false; !is_last;) {
    std::size_t const end = rest.find(':');
    is_last = end == std::string_view::npos;
    std::string const folder(rest.substr(0, end));
    std::string found = folder.empty() ? program : folder + '/' + program;
    if (::access(found.c_str(), X_OK) == 0) {
      return found;
    }
    rest.remove_prefix(is_last ? rest.size() : end + 1);
  }
  return program;
}

/// Reaps a child that the launcher has forked but could not turn into the command.
void reap(pid_t pid) {
  if (pid > 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace

Launched launch(std::vector<std::string> const& command, int output) {
  std::vector<char const*> arguments;
  for (std::string const& word : command) {
    arguments.push_back(word.c_str());
  }
  arguments.push_back(nullptr);
  std::vector<char*> const environment = environment_for_others();
  // The services of this io_context are notified of the fork in the child; the services of the
  // loop's io_context would register each of the supervisor's descriptors again.
  boost::asio::io_context nobodys_loop;
  process::posix::default_launcher launcher;
  process::error_code error;
  SignalsBlocked const until_the_child_has_its_own_actions;
  try {
    auto started =
        launcher(nobodys_loop.get_executor(), error, path_of(command.front()), arguments.data(),
                 process::process_stdio{nullptr, output, output}, ChildSetup(environment));
    started.detach();
  } catch (...) {
    if (launcher.pid == 0) {
      ::_exit(127);  // this is the child, which must never return from here
    }
    // The child runs, but no descriptor is left for the library's handle, or a sandbox refuses
    // pidfd_open(2). The handle is not needed.
    if (launcher.pid < 0) {
      return {0, EMFILE};
    }
    return {launcher.pid, 0};
  }
  if (error) {
    reap(launcher.pid);
    return {0, error.value()};
  }
  return {launcher.pid, 0};
}

}  // namespace lastcall::runtime
