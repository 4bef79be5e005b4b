// The connection to the supervisor, and the one descriptor that shows that something is to be done.
//
// Rules:
//  1. The descriptor is an epoll set of the socket, a wake-up and a timer: it is readable whenever
//     process() has work, whatever the reason, and it stays the same over all connections.
//  2. Nothing is queued while closed. The greeting, all from open() to end_greeting(), may have any
//     length; at most kMaxPending waits beyond it. With more is_overflowing() holds until the owner
//     closes, whatever was written since: lines have been left out.
//  3. Positions count the bytes queued since the connection began, so that the owner knows which of
//     its lines were written completely.
//
// Thread rule: under the owner's mutex, but wait() and receive(), which belong to the one thread
// that processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ipc/unix_socket.hpp"

namespace lastcall::sdk {

inline constexpr std::size_t kMaxPending = 1024 * 1024;

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, that of the wire

class Connection {
 public:
  /// std::invalid_argument: no such path; std::system_error: no descriptor.
  explicit Connection(std::string path);

  int handle() const { return set_.get(); }
  std::string const& path() const { return path_; }

  /// 0: connected; else an errno. It never blocks.
  int open();
  void close();
  bool is_open() const { return static_cast<bool>(socket_); }
  bool is_overflowing();

  /// Lines are appended here; queued() afterwards.
  std::string& out() { return out_; }
  void end_greeting() { greeting_end_ = queued(); }
  std::uint64_t queued() const { return flushed_ + pending(); }
  std::uint64_t flushed() const { return flushed_; }
  bool has_output() const { return pending() > 0; }
  /// Writes what the socket takes. False: the connection is gone.
  bool flush();

  /// Makes the descriptor readable, now or at that instant.
  void wake();
  void wake_at(std::optional<Clock::time_point> due);

  enum class Ready : std::uint8_t { nothing, something, input };
  /// Waits for at most that many milliseconds, -1: for ever. The wake-up counts as handled.
  Ready wait(int at_most_ms);
  /// After each wait(), and before the next: in between no thread needs to be woken.
  void woke(Clock::time_point now);
  void sleeps() { is_rung_ = false; }
  /// Bytes read into `room`; 0: none just now; absent: the other side is gone.
  std::optional<std::size_t> receive(std::span<char> room);

  /// In a forked child: lets go of the descriptors, of which the parent keeps its own.
  void abandon();

 private:
  std::size_t pending() const { return out_.size() - written_; }
  void watch(bool output);

  std::string const path_;
  Descriptor set_, bell_, timer_, socket_;
  std::string out_;
  std::size_t written_{};  // of out_
  std::uint64_t flushed_{};
  std::optional<std::uint64_t> greeting_end_;  // a position
  bool has_overflown_{};
  bool is_watching_output_{};
  bool is_rung_{};
  std::optional<Clock::time_point> armed_;
};

}  // namespace lastcall::sdk
