#include "supervisor/runtime/process_table.hpp"

#include <charconv>
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

namespace lastcall::runtime {

std::optional<Relatives> relatives_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  // The name may contain anything: fields count from the last parenthesis.
  std::size_t const name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(name_end + 1));
  char state = 0;
  pid_t group = 0;
  Relatives found{.pid = pid};
  if (!(fields >> state >> found.parent >> group >> found.session)) {
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
    pid_t pid = 0;
    auto const [stop, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc{} || stop != name.data() + name.size()) {
      continue;
    }
    if (auto const found = relatives_of(pid)) {
      all.push_back(*found);
    }
  }
  return all;
}

ipc::Fd open_process(pid_t pid) {
  return ipc::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool has_ended(ipc::Fd const& process) {
  pollfd ready{process.get(), POLLIN, 0};
  return !process || ::poll(&ready, 1, 0) == 1;
}

void send(ipc::Fd const& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

void kill_descendants(pid_t root) {
  // Twice: what was born while the first list was read has its parent in it.
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
      ipc::Fd const held = open_process(process.pid);
      auto const now = relatives_of(process.pid);
      if (!now || now->parent != process.parent) {
        continue;  // the number is another's by now, or it was handed to another parent
      }
      if (held) {
        send(held, SIGKILL);
      } else {
        ::kill(process.pid, SIGKILL);
      }
    }
  }
}

}  // namespace lastcall::runtime
