// The engine's other processes while it runs: reports which of them end by themselves or are
// stopped.
//
// Rules:
//  1. A process is known once a walk of /proc has seen it. Walks come 2, 4 and 6 s after the start
//     and then every 10 s, less often if one takes long, and when a stop begins. A pidfd reports
//     the end of a process at once; without a pidfd the next walk does, and walks come every 2 s.
//     At most 128 processes are known.
//  2. A process that lived for less than 5 s was a helper (a compiler, nvidia-smi), and so was one
//     that ended with code 0 and had no title of its own, unless the engine was asked to end. The
//     end of a helper is not a death.
//  3. The same walk sees state T and a new name; for the shim's children, waitpid reports state T,
//     too.
//  4. Deaths and stops wait here until they are fetched, at most 8 of each; further ones within one
//     turn are lost.
// Source: pidfd_open(2), proc(5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <sys/types.h>

#include "base/instant.hpp"
#include "shim/exit_code.hpp"
#include "shim/name_list.hpp"
#include "shim/process_name.hpp"

namespace lastcall::shim {

struct ProcessNews {
  pid_t pid = 0;
  ProcessName name;
  int signal = 0;  // the signal of a death, if it could be read
  Instant at{};
};

/// Holds the first few pieces of news, in their order.
class NewsQueue {
 public:
  void add(ProcessNews const& news);
  ProcessNews const* begin() const { return news_; }
  ProcessNews const* end() const { return news_ + count_; }
  void clear() { count_ = 0; }

 private:
  static constexpr std::size_t kMost = 8;
  ProcessNews news_[kMost];
  std::size_t count_ = 0;
};

struct KnownProcess {
  pid_t pid = 0;
  int pidfd = -1;
  std::uint64_t started = 0;  // in ticks since the boot
  bool is_stopped = false;
  ProcessName name;
};
inline constexpr std::size_t kMostKnownProcesses = 128;

class TreeWatch {
 public:
  /// The engine has been started. Without this call nothing is watched.
  void begin(Instant now, int epoll, pid_t main);
  void end();
  bool is_on() const { return epoll_ >= 0; }
  bool is_own(int descriptor) const { return is_on() && descriptor == epoll_; }

  std::optional<Instant> next_look() const {
    return is_on() ? std::optional(look_at_) : std::nullopt;
  }
  /// A stop begins, so the present processes must become known.
  void walk_soon(Instant now) { look_at_ = walk_at_ = now; }
  /// The engine has its stop signal, so its processes are expected to end, and each end is
  /// reported.
  void engine_is_asked_to_end() { is_end_expected_ = true; }
  /// Handles processes that have ended, and walks if that is due; `spared` is as for every walk.
  void tend(Instant now, pid_t spared);
  /// A child of the shim ended, so that its status is known.
  void reaped(pid_t child, Ending ending, Instant now);
  /// A child of the shim is stopped.
  void stopped(pid_t child, Instant now);

  /// The number and the names of the processes besides the main one, as far as they are known.
  int others(NameList& names) const;

  NewsQueue& deaths() { return deaths_; }
  NewsQueue& stops() { return stops_; }

 private:
  void meet(pid_t pid);
  void look(Instant now);
  void take_ended(Instant now);
  void note_stop(KnownProcess& known, bool is_stopped, Instant now);
  void note_end(KnownProcess& known, std::optional<Ending> ending, Instant now);
  KnownProcess* find(pid_t pid);
  void forget(KnownProcess& known);

  int epoll_ = -1;
  pid_t main_ = 0;
  Instant look_at_{};
  Instant walk_at_{};
  int walks_ = 0;
  bool is_end_expected_ = false;
  KnownProcess known_[kMostKnownProcesses];
  std::size_t count_ = 0;
  NewsQueue deaths_;
  NewsQueue stops_;
};

}  // namespace lastcall::shim
