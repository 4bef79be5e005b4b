// The connection to the supervisor, and the one descriptor that shows that there is work to do.
//
// Rules:
//  1. The descriptor is an epoll set of the socket, a wake-up and a timer: it is readable whenever
//     process() has work, whatever the reason, and it stays the same for all connections.
//  2. Nothing is queued while the connection is closed; the output begins anew with each one.
//
// Thread rule: under the owner's mutex, except wait() and receive(), which belong to the one thread
// that processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ipc/unix_socket.hpp"
#include "sdk/cpp/output.hpp"

namespace lastcall::sdk {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, as in the protocol

class Connection {
 public:
  /// Throws std::invalid_argument if the path cannot be one, and std::system_error if there is no
  /// descriptor.
  explicit Connection(std::string path);

  int handle() const { return set_.get(); }
  std::string const& path() const { return path_; }

  /// Returns 0 if it is connected, otherwise an errno. It never blocks.
  int open();
  void close();
  bool is_open() const { return static_cast<bool>(socket_); }

  Output& output() { return output_; }
  /// Writes as much as the socket accepts. Returns false if the connection is gone.
  bool flush();

  /// Make the descriptor readable, now or at that time.
  void wake();
  void wake_at(std::optional<Clock::time_point> due);

  enum class Ready : std::uint8_t { nothing, something, input };
  /// Waits for at most that many milliseconds; -1 means without a limit. The wake-up then counts as
  /// handled.
  Ready wait(int at_most_ms);
  /// Must be called after each wait() and before the next one; between the two, no other thread
  /// needs to wake this one.
  void woke(Clock::time_point now);
  void sleeps() { is_rung_ = false; }
  /// Returns the number of bytes read into `room`; 0 if there are none now; absent if the other
  /// side is gone.
  std::optional<std::size_t> receive(std::span<char> room);

  /// Closes the descriptors in a forked child; the parent keeps its own.
  void abandon();

 private:
  void watch(bool output);

  std::string const path_;
  Descriptor set_, bell_, timer_, socket_;
  Output output_;
  bool is_watching_output_{};
  bool is_rung_{};
  std::optional<Clock::time_point> armed_;
};

}  // namespace lastcall::sdk
