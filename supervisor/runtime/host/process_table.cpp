#include "supervisor/runtime/host/process_table.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse_number.hpp"

namespace lastcall::runtime {

namespace {

/// The text after the name in /proc/PID/stat, from the state on; absent if the process is gone.
std::optional<std::istringstream> stat_fields(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  // The name may contain any character, so fields are counted from the last parenthesis.
  std::size_t const name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  return std::istringstream(text.substr(name_end + 1));
}

/// 0 if the process is gone, or waits only to be reaped.
std::uint64_t start_time_of(pid_t pid) {
  constexpr int kBetween = 18;  // from the state, the 3rd field, to the 22nd
  std::optional<std::istringstream> fields = stat_fields(pid);
  char state = 0;
  if (!fields || !(*fields >> state) || state == 'Z' || state == 'X') {
    return 0;
  }
  std::string passed;
  for (int i = 0; i < kBetween; ++i) {
    *fields >> passed;
  }
  std::uint64_t ticks = 0;
  return *fields >> ticks ? ticks : 0;
}

}  // namespace

std::optional<Relatives> relatives_of(pid_t pid) {
  std::optional<std::istringstream> fields = stat_fields(pid);
  char state = 0;
  pid_t group = 0;
  Relatives found{.pid = pid};
  if (!fields || !(*fields >> state >> found.parent >> group >> found.session)) {
    return std::nullopt;
  }
  return found;
}

std::vector<Relatives> all_processes() {
  std::vector<Relatives> all;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator("/proc", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    std::string const name = it->path().filename().string();
    auto const pid = parse_number<pid_t>(name);
    if (!pid) {
      continue;
    }
    if (auto const found = relatives_of(*pid)) {
      all.push_back(*found);
    }
  }
  return all;
}

HeldProcess open_process(pid_t pid) {
  HeldProcess held{.pid = pid,
                   .fd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
                   .started_at = 0};
  if (!held.fd) {
    held.started_at = start_time_of(pid);
  }
  return held;
}

bool has_ended(HeldProcess const& process) {
  if (!process.fd) {
    return !process || start_time_of(process.pid) != process.started_at;
  }
  pollfd ready{process.fd.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

void send(HeldProcess const& process, int signal) {
  if (process.fd) {
    ::syscall(SYS_pidfd_send_signal, process.fd.get(), signal, nullptr, 0);
  } else if (!has_ended(process)) {
    ::kill(process.pid, signal);
  }
}

void kill_descendants(pid_t root) {
  // Two rounds are needed: a process that started while the first list was read has its parent in
  // that list.
  for (int round = 0; round < 2; ++round) {
    std::vector<Relatives> const all = all_processes();
    std::set<pid_t> members{root};
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (Relatives const& process : all) {
        has_grown =
            (members.contains(process.parent) && members.insert(process.pid).second) || has_grown;
      }
    }
    for (Relatives const& process : all) {
      if (process.pid == root || !members.contains(process.pid)) {
        continue;
      }
      HeldProcess const held = open_process(process.pid);
      auto const now = relatives_of(process.pid);
      if (!now || now->parent != process.parent) {
        continue;  // the number was reused, or its parent has changed
      }
      send(held, SIGKILL);
    }
  }
}

}  // namespace lastcall::runtime
