// The connection to the supervisor: connects, always reconnects, and transfers lines.
//
// Rules:
//  1. The first line of a connection is the hello; the supervisor is present from its welcome on.
//  2. After a loss it tries again without end (attempts.hpp). Without a supervisor, nothing else
//     wakes an idle shim.
//  3. Nothing blocks. A supervisor that does not read its lines loses its connection when the
//     output buffer is full, or when the system does not accept them; the hello of the next
//     connection repeats everything that still matters. After a supervisor is gone, its last lines
//     are still read.
//  4. Every `signal` carries a seq, whose acknowledgement is awaited (ack_watch.hpp).
//  5. Neither invalid nor oversized lines are passed on: the connection ends.
// Source: specification, 'IPC'; docs/ipc.md; unix(7).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/instant.hpp"
#include "shim/ack_watch.hpp"
#include "shim/attempts.hpp"
#include "shim/deadline_rules.hpp"
#include "shim/line_buffer.hpp"
#include "shim/messages.hpp"
#include "shim/outgoing.hpp"
#include "shim/text.hpp"

namespace lastcall::shim {

class Link {
 public:
  /// If `path` is null, there is no supervisor.
  Link(char const* path, int epoll) : path_(path), epoll_(epoll) {}

  /// Connects if that is due; returns true if there is a new connection that needs its hello.
  bool connect_if_due(Instant now);
  /// Reads what has come; returns false if there is nothing more for now.
  bool receive(Instant now);
  std::optional<std::string_view> next_line();
  Attempts& attempts() { return attempts_; }

  void welcomed();
  bool has_welcome() const { return welcome_ == Welcome::present; }
  void acknowledged(std::int64_t seq) { acks_.acknowledged(seq); }
  void lose(Instant now);
  /// A supervisor is about to listen.
  void look_eagerly(Instant now);

  /// Append whole lines here, then send().
  Text& out() { return outgoing_.lines(); }
  /// Passes a descriptor with the first bytes of this connection, and closes it then; -1 for none.
  void pass(int descriptor) { outgoing_.pass(descriptor); }
  void send(Instant now);
  void send_signal(Instant now, int signal);
  /// Asks for a line: any line from the supervisor is an answer.
  void send_ping();

  bool connected() const { return fd_ >= 0; }
  /// Whether the shim cannot reach the supervisor, whatever the supervisor's state is.
  bool is_kept_out() const { return !connected() && attempts_.is_kept_out(); }
  Standing standing(Instant now) const;
  std::optional<Instant> next_wake(Instant now) const;
  /// Whether a line began that is longer than any line may be.
  bool flooded() const { return in_.is_full(); }

 private:
  /// Whether the supervisor has welcomed the shim: never, on an earlier connection, or on this one.
  enum class Welcome : unsigned char { never, past, present };

  void watch_output(bool wanted);

  char const* path_;
  int epoll_;
  int fd_ = -1;
  Welcome welcome_ = Welcome::never;
  bool watching_output_ = false;
  Attempts attempts_;
  AckWatch acks_;
  Outgoing outgoing_;
  LineBuffer in_;
};

}  // namespace lastcall::shim
