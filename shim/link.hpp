// The connection to the supervisor: connects, reconnects for ever, moves lines.
//
// Rules:
//  1. The first line of a connection is the hello; the supervisor is present from its welcome on.
//  2. After a loss an attempt every 50 ms for one second, then every 500 ms; refused as `busy`,
//     every 100 ms. With nobody there, that is the only thing that wakes an idle shim.
//  3. Nothing blocks. A supervisor that does not read its lines loses its connection when the
//     output buffer is full, or when the system does not take them; the hello of the next one
//     repeats whatever still matters. Once it is gone, what it said last is still read.
//  4. Every `signal` carries a seq; the oldest one that was not acknowledged within a second makes
//     the supervisor silent, until the acknowledgement comes or the connection ends.
//  5. Neither garbage nor an oversized line reaches anybody: the connection ends.
// Source: specification, 'IPC'; docs/ipc.md; unix(7).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/instant.hpp"
#include "shim/deadline_rules.hpp"
#include "shim/line_buffer.hpp"
#include "shim/messages.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

class Link {
 public:
  Link(char const* path, int epoll) : path_(path), epoll_(epoll) {}
  Link(Link const&) = delete;
  Link& operator=(Link const&) = delete;

  /// The path is set: there is a supervisor to look for.
  bool wanted() const { return path_ != nullptr; }

  /// Connects if it is time to; true: a connection is there, and wants its hello.
  bool connect_if_due(Instant now);
  /// Takes what has come; false: nothing more for now.
  bool receive(Instant now);
  std::optional<std::string_view> next_line();

  /// The errno of the last attempt, where it is another than the one told before; 0: nothing new.
  /// That nobody listens is no news in the second that a supervisor needs to start.
  int take_trouble(Instant now);

  /// Goes with the first bytes of this connection, then it is closed; -1 is nothing.
  void pass(int descriptor);

  void welcomed();
  bool has_welcome() const { return welcomed_; }
  void refused_as_busy() { busy_ = true; }
  void acknowledged(std::int64_t seq);
  void lose(Instant now);
  /// Somebody is about to listen: the second of frequent attempts begins anew.
  void look_eagerly(Instant now);

  /// Append whole lines here, then send().
  Text& out() { return out_; }
  void send(Instant now);
  void send_signal(Instant now, int signal);
  /// Whatever comes back is an answer.
  void send_ping();

  bool connected() const { return fd_ >= 0; }
  Standing standing(Instant now) const;
  std::optional<Instant> next_wake(Instant now) const;
  /// A line began that is longer than any line may be.
  bool flooded() const { return in_.is_full(); }

 private:
  ssize_t send_pending(std::string_view pending);
  void watch_output(bool wanted);
  bool silent(Instant now) const { return watched_seq_ != 0 && now >= silent_at_; }

  char const* path_;
  int epoll_;
  int fd_ = -1;
  int passed_ = -1;  // not sent yet
  bool welcomed_ = false;
  bool ever_welcomed_ = false;
  bool busy_ = false;
  bool watching_output_ = false;
  int trouble_ = 0;       // errno of the last attempt
  int told_trouble_ = 0;  // the last one that was taken
  Instant next_attempt_ = kAtOnce;
  std::optional<Instant> looking_since_;
  std::int64_t last_seq_ = 0;
  std::int64_t watched_seq_ = 0;  // 0: none is awaited
  Instant silent_at_{};
  std::size_t sent_ = 0;  // of out_
  TextOf<16 * 1024> out_;
  LineBuffer in_;
};

}  // namespace lastcall::shim
