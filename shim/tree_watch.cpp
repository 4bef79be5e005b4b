#include "shim/tree_watch.hpp"

#include <algorithm>

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "shim/parse.hpp"
#include "shim/process_tree.hpp"

namespace lastcall::shim {
namespace {

constexpr Duration kLookGap{2'000};
constexpr Duration kWalkGap{10'000};
constexpr int kEarlyWalks = 3;
constexpr int kShareOfWalks = 2'000;  // walks take at most one part in this many of the time
constexpr std::uint64_t kGrownSeconds = 5;
constexpr std::size_t kLongestCommand = 15;

/// The fields of /proc/PID/stat that matter here.
struct Stat {
  char command[kLongestCommand] = {};
  std::size_t command_size = 0;
  char state = 0;
  std::uint64_t started = 0;
  // As wait(2) reports it; only of a zombie whose status may be read.
  std::optional<int> exit_status;
};

std::optional<Stat> read_stat(pid_t pid) {
  constexpr int kStarted = 22;
  constexpr int kExitCode = 52;
  char buffer[1024];
  std::string_view text = read_process_file(pid, "stat", buffer, sizeof buffer);
  std::size_t const name_begin = text.find('(') + 1;
  std::size_t const name_end = text.rfind(')');
  if (name_begin == 0 || name_end == std::string_view::npos || name_end < name_begin ||
      name_end + 2 >= text.size()) {
    return std::nullopt;
  }
  Stat stat;
  std::string_view const command = text.substr(name_begin, name_end - name_begin);
  stat.command_size = command.copy(stat.command, kLongestCommand);
  text.remove_prefix(name_end + 2);
  for (int field = 3; !text.empty(); ++field) {
    std::size_t const end = text.find_first_of(" \n");
    std::string_view const word = text.substr(0, end);
    if (field == 3) {
      stat.state = word.front();
    } else if (field == kStarted) {
      stat.started = static_cast<std::uint64_t>(parse_unsigned(word).value_or(0));
    } else if (field == kExitCode && stat.state == 'Z') {
      stat.exit_status = static_cast<int>(parse_unsigned(word).value_or(0));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return stat;
}

/// The kernel's name, which a process changes when it takes a title.
std::string_view name_in(Stat const& stat) {
  return {stat.command, stat.command_size};
}

/// The kernel keeps the status of a reaped process for a process that has its pidfd (Linux 6.15).
std::optional<int> status_by_pidfd(int pidfd) {
  struct {
    std::uint64_t mask;
    std::uint64_t cgroup;
    std::uint32_t ids[11];
    std::int32_t exit_code;
  } info{};
  constexpr std::uint64_t kExit = 1U << 3U;
  constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, info);
  info.mask = kExit;
  if (pidfd < 0 || ioctl(pidfd, kGetInfo, &info) != 0 || (info.mask & kExit) == 0) {
    return std::nullopt;
  }
  return info.exit_code;
}

std::optional<Ending> ending_of(pid_t pid, int pidfd) {
  std::optional<Stat> const stat = read_stat(pid);
  std::optional<int> status = stat ? stat->exit_status : std::nullopt;
  if (!status) {
    status = status_by_pidfd(pidfd);
  }
  return status ? std::optional(ending_from_status(*status)) : std::nullopt;
}

bool is_grown(std::uint64_t started) {
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  auto const ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  auto const now = static_cast<std::uint64_t>(boot.tv_sec) * ticks +
                   static_cast<std::uint64_t>(boot.tv_nsec) * ticks / 1'000'000'000U;
  return now >= started + kGrownSeconds * ticks;
}

bool is_dead(char state) {
  return state == 'Z' || state == 'X';
}

}  // namespace

void NewsQueue::add(ProcessNews const& news) {
  if (count_ < kMost) {
    news_[count_++] = news;
  }
}

void TreeWatch::begin(Instant now, int epoll, pid_t main) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = epoll_;
  if (epoll_ < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, epoll_, &event) != 0) {
    return end();
  }
  main_ = main;
  look_at_ = walk_at_ = now + kLookGap;
}

void TreeWatch::end() {
  while (count_ > 0) {
    forget(known_[0]);
  }
  if (epoll_ >= 0) {
    close(epoll_);
  }
  epoll_ = -1;
}

void TreeWatch::tend(Instant now, pid_t spared) {
  if (!is_on()) {
    return;
  }
  take_ended(now);
  if (now < look_at_) {
    return;
  }
  look(now);
  if (now >= walk_at_) {
    visit_tree(
        spared, [](void* self, pid_t pid) { static_cast<TreeWatch*>(self)->meet(pid); }, this);
    Duration const cost = monotonic_now() - now;
    ++walks_;
    walk_at_ = now + std::max(walks_ < kEarlyWalks ? kLookGap : kWalkGap, cost * kShareOfWalks);
  }
  look_at_ = monotonic_now() + kLookGap;
}

void TreeWatch::take_ended(Instant now) {
  constexpr int kMostEvents = 16;
  epoll_event events[kMostEvents];
  int const count = epoll_wait(epoll_, events, kMostEvents, 0);
  for (int i = 0; i < count; ++i) {
    if (KnownProcess* const known = find(events[i].data.fd)) {
      note_end(*known, ending_of(known->pid, known->pidfd), now);
    }
  }
}

void TreeWatch::look(Instant now) {
  // The loop runs backwards, because the last one takes the place of one that is forgotten.
  for (std::size_t i = count_; i-- > 0;) {
    KnownProcess& known = known_[i];
    std::optional<Stat> const stat = read_stat(known.pid);
    if (!stat || stat->started != known.started || is_dead(stat->state)) {
      note_end(known, ending_of(known.pid, known.pidfd), now);
    } else {
      note_stop(known, stat->state == 'T', now);
      // A process often gets its name after it has begun its work, between two walks.
      if (!known.name.is_title && known.name.view() != name_in(*stat)) {
        known.name.refresh(known.pid);
      }
    }
  }
}

void TreeWatch::meet(pid_t pid) {
  if (KnownProcess* const known = find(pid)) {
    known->name.refresh(pid);
    return;
  }
  std::optional<Stat> const stat = read_stat(pid);
  if (!stat || is_dead(stat->state) || count_ == kMostKnownProcesses) {
    return;
  }
  KnownProcess& known = known_[count_++];
  known = {};
  known.pid = pid;
  known.started = stat->started;
  known.name.read(pid);
  known.pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = pid;
  if (known.pidfd >= 0 && epoll_ctl(epoll_, EPOLL_CTL_ADD, known.pidfd, &event) != 0) {
    close(known.pidfd);
    known.pidfd = -1;
  }
}

void TreeWatch::reaped(pid_t child, Ending ending, Instant now) {
  if (KnownProcess* const known = find(child)) {
    note_end(*known, ending, now);
  }
}

void TreeWatch::stopped(pid_t child, Instant now) {
  if (KnownProcess* const known = find(child)) {
    return note_stop(*known, true, now);
  }
  ProcessNews news{.pid = child, .name = {}, .signal = 0, .at = now};
  news.name.read(child);
  stops_.add(news);
}

void TreeWatch::note_stop(KnownProcess& known, bool is_stopped, Instant now) {
  if (is_stopped && !known.is_stopped) {
    stops_.add({.pid = known.pid, .name = known.name, .signal = 0, .at = now});
  }
  known.is_stopped = is_stopped;
}

void TreeWatch::note_end(KnownProcess& known, std::optional<Ending> ending, Instant now) {
  bool const is_regular = ending && ending->signal == 0 && ending->code == 0 &&
                          !known.name.is_title && !is_end_expected_;
  if (known.pid != main_ && !is_regular && is_grown(known.started)) {
    deaths_.add(
        {.pid = known.pid, .name = known.name, .signal = ending ? ending->signal : 0, .at = now});
  }
  forget(known);
}

int TreeWatch::others(NameList& names) const {
  int alive = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (known_[i].pid != main_) {
      ++alive;
      names.add(known_[i].name);
    }
  }
  if (count_ == kMostKnownProcesses) {
    names.misses_some();
  }
  return alive;
}

KnownProcess* TreeWatch::find(pid_t pid) {
  KnownProcess* const end = known_ + count_;
  KnownProcess* const found =
      std::find_if(known_, end, [pid](KnownProcess const& known) { return known.pid == pid; });
  return found != end ? found : nullptr;
}

void TreeWatch::forget(KnownProcess& known) {
  if (known.pidfd >= 0) {
    close(known.pidfd);
  }
  known = known_[--count_];
}

}  // namespace lastcall::shim
