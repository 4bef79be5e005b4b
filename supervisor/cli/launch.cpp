#include "supervisor/cli/launch.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace lastcall::cli {
namespace {

std::string take(char const* name) {
  char const* const value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

}  // namespace

Launch take_launch() {
  Launch launch{.path = take("LASTCALL_LAUNCHER"), .held_signals = take("LASTCALL_HELD_SIGNALS")};
  if (launch.path.empty()) {
    std::error_code error;
    auto const own = std::filesystem::read_symlink("/proc/self/exe", error);
    launch.path = error ? "lastcall" : own.string();
  }
  return launch;
}

}  // namespace lastcall::cli
