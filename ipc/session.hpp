// One connection: splits incoming bytes into lines, sends lines in few writes, and watches the
// peer's process.
//
// Rules:
//  1. open -> closing (writes the waiting lines, ignores incoming ones) -> ended. The owner's
//     ended() is called once, in a turn of its own, and no line is delivered after it.
//  2. The owner's process_gone() is called once, after every line that the process had written; the
//     watch outlives the connection and ends with unwatch().
//  3. The outbox sends the lines of one turn in one write. While the socket takes no more, messages
//     wait up to a limit, and cancels are not made yet.
//  4. After we have closed, the peer's bytes are read and dropped for a moment, so that the last
//     line reaches a peer that is still writing.
//
// Thread rule: the thread that runs the io_context. Source: unix(7), pidfd_open(2).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "ipc/line_buffer.hpp"
#include "ipc/outbox.hpp"
#include "ipc/server.hpp"
#include "ipc/unix_socket.hpp"

namespace lastcall::ipc {

class SessionOwner {
 public:
  virtual ~SessionOwner() = default;
  virtual void line(PeerId peer, std::string_view line) = 0;
  virtual void line_too_long(PeerId peer) = 0;
  virtual void sent_no_hello(PeerId peer) = 0;
  /// Appends whole lines of cancels, about `room` bytes; false when none is left.
  virtual bool make_cancels(PeerId peer, std::size_t room, std::string& out) = 0;
  virtual void ended(PeerId peer, std::string_view why) = 0;
  virtual void process_gone(PeerId peer) = 0;
  /// The peer is about to be closed for this reason; ended() follows.
  virtual void dropped(PeerId peer, Drop why) = 0;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  struct Limits {
    std::size_t max_waiting{};
    std::chrono::milliseconds stall_timeout{};
    std::chrono::milliseconds hello_timeout{};
  };

  Session(boost::asio::io_context& io, PeerId id, Descriptor socket, PeerProcess process,
          Limits limits, std::weak_ptr<SessionOwner> owner, std::shared_ptr<Outbox> outbox);

  void start();
  /// The hello has arrived: its timer ends. A patient session is never dropped for reading slowly.
  void greeted(bool is_patient);

  bool is_open() const { return state_ == State::open; }
  /// Reads everything that is there now, including the end of the stream.
  void receive_rest();
  bool has_peer_closed() const { return peer_has_closed_; }
  bool is_watched() const { return watched_; }
  /// The descriptor that came with the first bytes; empty if none did, or it was taken already.
  Descriptor take_passed() { return std::move(passed_); }
  bool has_output() const { return !writing_.empty() || !waiting_.empty() || has_cancels_; }

  /// The buffer for the next line; the caller appends to it and then calls queued().
  std::string& waiting() { return waiting_; }
  void queued();
  void cancels_ready();
  /// Only the outbox calls it.
  void flush_now();

  /// Writes the waiting lines, then ends.
  void close(std::string_view why);
  /// Sends a last line if the socket accepts it, and ends at once, without waiting for the peer to
  /// read.
  void dismiss(std::string_view line);
  /// Ends at once.
  void abort(std::string_view why);
  void unwatch();

 private:
  enum class State : std::uint8_t { open, closing, ended };

  void wait_readable();
  void readable();
  /// Reads until nothing is left or `most` bytes have arrived.
  void read_up_to(std::size_t most, bool until_nothing_is_left = false);
  ssize_t receive(std::span<char> room);
  void take_lines();
  void discard();
  void wait_writable();
  void schedule_flush();
  void flush();
  bool refill(SessionOwner& owner);
  std::size_t other_waiting() const;
  void arm_stall();
  void stalled();
  void end(std::string_view why);
  void drop(Drop reason, std::string_view why);
  void wait_process();
  void process_ended();
  int unread_by_peer();

  boost::asio::io_context& io_;
  PeerId id_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor pidfd_;
  boost::asio::steady_timer timer_;  // for the hello, then for stalls, then for lingering
  Limits limits_;
  std::weak_ptr<SessionOwner> owner_;
  std::shared_ptr<Outbox> outbox_;

  LineBuffer lines_;
  Descriptor passed_;
  std::string writing_;       // the bytes that are being written
  std::size_t written_{};     // how many of them were written
  std::size_t others_end_{};  // where the lines in it end that are not cancels
  std::string waiting_;       // the lines that follow
  std::string why_;
  int unread_{};  // the peer's unread bytes when the stall timer was armed
  State state_{State::open};
  bool watched_{};
  bool process_is_gone_{};
  bool has_greeted_{};
  bool is_patient_{};
  bool has_cancels_{};
  bool flush_is_scheduled_{};
  bool is_blocked_{};
  bool peer_has_closed_{};
};

}  // namespace lastcall::ipc
