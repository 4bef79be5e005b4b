#include "shim/process_tree.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/directory.hpp"
#include "shim/parse.hpp"
#include "shim/process_name.hpp"

namespace lastcall::shim {
namespace {

struct Process {
  pid_t pid;
  pid_t parent;
  pid_t session;
  char state;
  bool descends;
  bool spared;
};

/// This is only address space; a page is used when a process needs it.
constexpr std::size_t kMostProcesses = std::size_t{1} << 20;
constexpr std::size_t kMostDescribed = 8;

/// Removes the next word from a text of words and blanks, and returns it.
std::string_view take_word(std::string_view& text) {
  std::size_t const blank = text.find(' ');
  std::string_view const word = text.substr(0, blank);
  text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  return word;
}

pid_t take_pid(std::string_view& text) {
  return static_cast<pid_t>(parse_unsigned(take_word(text)).value_or(0));
}

std::optional<Process> read_process(pid_t pid) {
  char buffer[512];
  std::string_view stat = read_process_file(pid, "stat", buffer, sizeof buffer);
  // The name may contain anything, even ") Z (", so fields count from the last parenthesis.
  std::size_t const name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) {
    return std::nullopt;
  }
  stat.remove_prefix(name_end + 2);
  Process process{
      .pid = pid, .parent = 0, .session = 0, .state = 0, .descends = false, .spared = false};
  process.state = take_word(stat).front();
  process.parent = take_pid(stat);
  take_word(stat);  // process group
  process.session = take_pid(stat);
  return process;
}

bool is_spared(Process const& process, pid_t spared) {
  return spared > 0 && (process.pid == spared || process.session == spared);
}

/// Calls `visit(pid)` for each child of the shim. Only the shim reaps them, so none is left out.
/// Returns false if the system has no such list.
template <class Visit>
bool visit_children(Visit const& visit) {
  TextOf<64> path;
  path << "/proc/self/task/" << getpid() << "/children" << std::string_view("\0", 1);
  int const fd = open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return false;
  }
  char buffer[4 * 1024];
  std::size_t kept = 0;  // length of a number that the last read has cut
  for (ssize_t count = 0; (count = read(fd, buffer + kept, sizeof buffer - kept)) > 0;) {
    std::string_view text(buffer, kept + static_cast<std::size_t>(count));
    while (text.find(' ') != std::string_view::npos) {
      if (pid_t const pid = take_pid(text); pid > 0) {
        visit(pid);
      }
    }
    kept = text.size();
    std::memmove(buffer, text.data(), kept);
  }
  close(fd);
  return true;
}

/// The descendants of a spared process are spared, too, so in this case there is nothing else.
bool has_spared_children_alone(pid_t spared) {
  bool are_all_spared = true;
  bool const is_listed = visit_children([&](pid_t pid) {
    std::optional<Process> const child = read_process(pid);
    are_all_spared = are_all_spared && child && is_spared(*child, spared);
  });
  return is_listed && are_all_spared;
}

class Walk {
 public:
  explicit Walk(pid_t spared) : self_(getpid()), spared_(spared) {
    void* const memory = mmap(nullptr, kMostProcesses * sizeof(Process), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      return;
    }
    all_ = static_cast<Process*>(memory);
    read_all();
    while (mark_descendants()) {
    }
  }
  ~Walk() {
    if (all_ != nullptr) {
      munmap(all_, kMostProcesses * sizeof(Process));
    }
  }
  Walk(Walk const&) = delete;
  Walk& operator=(Walk const&) = delete;

  Process const* begin() const { return all_; }
  Process const* end() const { return all_ + count_; }

 private:
  void read_all() {
    Directory proc("/proc");
    if (!proc.is_open()) {
      return;
    }
    while (char const* name = proc.next()) {
      std::optional<std::int64_t> const pid = parse_unsigned(name);
      if (!pid || count_ == kMostProcesses) {
        continue;
      }
      if (std::optional<Process> const process = read_process(static_cast<pid_t>(*pid))) {
        all_[count_++] = *process;
      }
    }
    std::sort(all_, all_ + count_,
              [](Process const& a, Process const& b) { return a.pid < b.pid; });
  }

  Process const* find(pid_t pid) const {
    Process const* const found = std::lower_bound(
        begin(), end(), pid, [](Process const& process, pid_t key) { return process.pid < key; });
    return found != end() && found->pid == pid ? found : nullptr;
  }

  /// Marks one generation, or more if parents have lower process ids. Returns true if one was new.
  bool mark_descendants() {
    bool changed = false;
    for (std::size_t i = 0; i < count_; ++i) {
      Process& process = all_[i];
      if (process.descends || process.pid == self_) {
        continue;
      }
      Process const* const parent = process.parent == self_ ? nullptr : find(process.parent);
      if (process.parent == self_ || (parent != nullptr && parent->descends)) {
        process.descends = changed = true;
        process.spared = is_spared(process, spared_) || (parent != nullptr && parent->spared);
      }
    }
    return changed;
  }

  pid_t self_;
  pid_t spared_;
  Process* all_ = nullptr;
  std::size_t count_ = 0;
};

bool is_dead(Process const& process) {
  return process.state == 'Z' || process.state == 'X';
}

}  // namespace

bool Asked::add(pid_t pid) {
  if (count_ == kMost || std::find(pids_, pids_ + count_, pid) != pids_ + count_) {
    return false;
  }
  pids_[count_++] = pid;
  return true;
}

void Asked::remove(pid_t pid) {
  pid_t* const end = pids_ + count_;
  if (pid_t* const found = std::find(pids_, end, pid); found != end) {
    *found = pids_[--count_];
  }
}

namespace {

void obey(TreeOrder const& order, Process const& process) {
  if (order.only_children == nullptr) {
    kill(process.pid, order.signal);
  } else if (process.parent == getpid() && order.only_children->add(process.pid)) {
    kill(process.pid, order.signal);
    kill(process.pid, SIGCONT);
  }
}

}  // namespace

Tally walk_tree(TreeOrder const& order) {
  Tally tally;
  // When an engine has died, the supervisor and its clients wait for this walk, which reads every
  // process that this one can see; on a host these are all processes.
  if (has_spared_children_alone(order.spared)) {
    return tally;
  }
  Walk const walk(order.spared);
  tally.blind = walk.begin() == walk.end();
  for (Process const& process : walk) {
    if (!process.descends || process.spared) {
      continue;
    }
    if (is_dead(process)) {
      ++tally.zombies;
      continue;
    }
    ++tally.living;
    bool const is_tracker = order.spares_trackers && is_resource_tracker(process.pid);
    tally.trackers += is_tracker ? 1 : 0;
    if (order.names != nullptr) {
      ProcessName name;
      name.read(process.pid);
      order.names->add(name);
    }
    if (order.signal != 0 && !is_tracker) {
      obey(order, process);
    }
  }
  return tally;
}

bool kill_children(pid_t spared, bool spares_trackers) {
  return visit_children([&](pid_t pid) {
    std::optional<Process> const child = read_process(pid);
    bool const is_ours = child && child->parent == getpid();
    if (is_ours && !is_spared(*child, spared) && !(spares_trackers && is_resource_tracker(pid))) {
      kill(pid, SIGKILL);
    }
  });
}

void visit_tree(pid_t spared, void (*visit)(void* context, pid_t pid), void* context) {
  for (Process const& process : Walk(spared)) {
    if (process.descends && !process.spared && !is_dead(process)) {
      visit(context, process.pid);
    }
  }
}

void describe_tree(Text& out, pid_t spared) {
  std::size_t described = 0;
  for (Process const& process : Walk(spared)) {
    if (!process.descends || process.spared || ++described > kMostDescribed) {
      continue;
    }
    char buffer[512];
    std::string_view const stat = read_process_file(process.pid, "stat", buffer, sizeof buffer);
    std::size_t const open = stat.find('(');
    std::size_t const close = stat.rfind(')');
    out << (described > 1 ? ", " : "") << process.pid;
    if (open != std::string_view::npos && close != std::string_view::npos) {
      out << " " << stat.substr(open, close - open + 1);
    }
    out << " in state " << std::string_view(&process.state, 1);
  }
}

}  // namespace lastcall::shim
