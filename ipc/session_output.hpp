// The writing half of a session: one write per turn, cancels on demand, no patience with a peer
// that does not read.
//
// Rules:
//  1. open -> finishing (writes the waiting lines) -> ended. Only an open output takes cancels; an
//     ended one drops what is queued.
//  2. The lines of one turn are sent in one write (unflushed_outputs.hpp). While the socket takes
//     no more, messages wait up to a limit, and cancels are not made yet.
//  3. A peer that reads nothing for a while, or for which too much waits, is given up, unless it is
//     a patient one: that waits, whatever it does.
//
// Thread rule: the thread that runs the io_context. Source: unix(7).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "ipc/output_buffer.hpp"
#include "ipc/peer_socket.hpp"
#include "ipc/server.hpp"
#include "ipc/stall_timer.hpp"
#include "ipc/unflushed_outputs.hpp"

namespace lastcall::ipc {

class CancelSource {
 public:
  virtual ~CancelSource() = default;
  /// Appends whole lines of cancels, about `room` bytes; false when none is left.
  virtual bool make_cancels(PeerId peer, std::size_t room, std::string& out) = 0;
};

/// The owner of an output learns how it ended; it calls stop() then.
class OutputOwner {
 public:
  virtual ~OutputOwner() = default;
  /// All lines were written after finish().
  virtual void output_finished() = 0;
  /// The peer cannot be written to, or is given up for a reason that is counted.
  virtual void output_failed(std::optional<Drop> reason, std::string_view why) = 0;
};

class SessionOutput {
 public:
  struct Limits {
    std::size_t max_waiting{};
    std::chrono::milliseconds stall_timeout{};
  };

  SessionOutput(boost::asio::io_context& io, PeerId id, PeerSocket& socket, Limits limits,
                std::weak_ptr<CancelSource> cancels, std::shared_ptr<UnflushedOutputs> unflushed,
                OutputOwner& owner);
  /// `self` shares the ownership of the session: whoever will write keeps all of it alive.
  void start(std::weak_ptr<SessionOutput> self) { self_ = std::move(self); }
  void be_patient() { is_patient_ = true; }

  bool is_open() const { return state_ == State::open; }
  bool has_ended() const { return state_ == State::ended; }
  bool has_any() const { return !buffer_.is_empty(); }

  /// The buffer for the next line; the caller appends to it and then calls queued().
  std::string& waiting() { return buffer_.waiting(); }
  void queued();
  void cancels_ready();
  /// Only UnflushedOutputs calls it.
  void flush_now();

  /// Writes the waiting lines, then ends.
  void finish();
  /// Ends at once.
  void stop();

 private:
  enum class State : std::uint8_t { open, finishing, ended };

  void schedule_flush();
  void flush();
  void wait_writable();
  void wait_for_reader();
  void stalled();

  PeerId id_;
  PeerSocket& socket_;
  std::size_t max_waiting_;
  std::weak_ptr<CancelSource> cancels_;
  std::shared_ptr<UnflushedOutputs> unflushed_;
  OutputOwner& owner_;
  std::weak_ptr<SessionOutput> self_;
  OutputBuffer buffer_;
  StallTimer stall_;
  State state_{State::open};
  bool is_patient_{};
  bool flush_is_scheduled_{};
  bool is_blocked_{};
};

}  // namespace lastcall::ipc
