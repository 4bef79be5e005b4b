#include "shim/process_name.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace lastcall::shim {
namespace {

constexpr std::size_t kReadOfCommandLine = 512;
constexpr std::string_view kResourceTracker = "multiprocessing.resource_tracker";

/// Reads the content of /proc/PID/cmdline. Empty if that lists a program and its arguments.
std::string_view title_in(std::string_view command_line) {
  while (command_line.ends_with('\0')) {
    command_line.remove_suffix(1);
  }
  bool const is_list = command_line.find('\0') != std::string_view::npos;
  bool const is_path = command_line.starts_with('/') || command_line.starts_with('.');
  return is_list || is_path ? std::string_view{} : command_line;
}

}  // namespace

std::string_view read_process_file(pid_t pid, std::string_view entry, char* buffer,
                                   std::size_t size) {
  TextOf<64> path;
  path << "/proc/" << pid << "/" << entry << std::string_view("\0", 1);
  int const fd = open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return {};
  }
  ssize_t const count = read(fd, buffer, size);
  close(fd);
  return {buffer, count > 0 ? static_cast<std::size_t>(count) : 0};
}

bool append_process_name(Text& out, pid_t pid) {
  char buffer[kReadOfCommandLine];
  std::string_view const line = read_process_file(pid, "cmdline", buffer, sizeof buffer);
  std::string_view name = title_in(line);
  bool const is_title = !name.empty();
  if (!is_title && line.find(kResourceTracker) != std::string_view::npos) {
    name = kResourceTracker;
  } else if (!is_title) {
    name = read_process_file(pid, "comm", buffer, sizeof buffer);
    name = name.substr(0, name.find('\n'));
  }
  out << name.substr(0, kLongestProcessName);
  return is_title;
}

void ProcessName::read(pid_t pid) {
  Text text(bytes, sizeof bytes);
  is_title = append_process_name(text, pid);
  size = static_cast<unsigned char>(text.view().size());
}

void ProcessName::refresh(pid_t pid) {
  ProcessName now;
  now.read(pid);
  bool const is_gone = now.size == 0;
  if (!is_gone && (now.is_title || !is_title)) {
    *this = now;
  }
}

bool is_resource_tracker(pid_t pid) {
  char buffer[kReadOfCommandLine];
  std::string_view const line = read_process_file(pid, "cmdline", buffer, sizeof buffer);
  return line.find(kResourceTracker) != std::string_view::npos;
}

}  // namespace lastcall::shim
