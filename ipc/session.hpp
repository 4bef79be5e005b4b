// One connection: splits incoming bytes into lines, sends lines, and watches the peer's process.
//
// Rules:
//  1. open -> closing (writes the waiting lines, ignores incoming ones) -> ended: it is the state
//     of the output. The owner's ended() is called once, in a turn of its own, and no line is
//     delivered after it.
//  2. The owner's process_ended() is called once, perhaps before that process's last lines. The
//     watch outlives the connection and ends with unwatch().
//  3. After we have closed, the peer's bytes are read and dropped for a moment, so that the last
//     line reaches a peer that is still writing.
//
// Thread rule: the thread that runs the io_context. Source: unix(7).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "ipc/peer_socket.hpp"
#include "ipc/process_watch.hpp"
#include "ipc/server.hpp"
#include "ipc/session_input.hpp"
#include "ipc/session_output.hpp"
#include "ipc/turns.hpp"
#include "ipc/unix_socket.hpp"

namespace lastcall::ipc {

class SessionOwner : public CancelSource {
 public:
  virtual void line(PeerId peer, std::string_view line) = 0;
  virtual void line_too_long(PeerId peer) = 0;
  virtual void sent_no_hello(PeerId peer) = 0;
  virtual void ended(PeerId peer, std::string_view why) = 0;
  virtual void process_ended(PeerId peer) = 0;
  /// The peer is about to be closed for this reason; ended() follows.
  virtual void dropped(PeerId peer, Drop why) = 0;
};

class Session : public OutputOwner,
                public InputOwner,
                public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::io_context& io, PeerId id, Descriptor socket, PeerProcess process,
          SessionOutput::Limits limits, std::weak_ptr<SessionOwner> owner,
          std::shared_ptr<Turns> turns);

  void start(std::chrono::milliseconds hello_timeout);
  /// The hello is here, and may have to wait: no further line is delivered until go_on().
  void hold_lines();
  void go_on();
  /// The hello has arrived: its timer ends. A patient session is never dropped for reading slowly.
  void greeted(bool is_patient);

  bool is_open() const { return output_.is_open(); }
  bool has_peer_closed() const { return socket_.has_peer_closed(); }
  /// The descriptor that came with the first bytes; empty if none did, or it was taken already.
  Descriptor take_passed() { return socket_.take_passed(); }
  SessionInput& input() { return input_; }
  SessionOutput& output() { return output_; }

  /// Writes the waiting lines, then ends.
  void close(std::string_view why);
  /// Sends a last line if the socket accepts it, and ends at once, without waiting for the peer to
  /// read.
  void dismiss(std::string_view line);
  /// Ends at once.
  void abort(std::string_view why);
  void unwatch() { process_.stop(); }

 private:
  void wait_readable() override;
  void readable();
  void input_ended(std::string_view why) override { close(why); }
  void output_finished() override { end(why_); }
  void output_failed(std::optional<Drop> reason, std::string_view why) override;
  void end(std::string_view why);
  void process_ended();

  PeerId id_;
  PeerSocket socket_;
  boost::asio::steady_timer timer_;  // for the hello, then for lingering
  std::weak_ptr<SessionOwner> owner_;
  std::shared_ptr<Turns> turns_;
  SessionOutput output_;
  SessionInput input_;
  ProcessWatch process_;
  std::string why_;
};

}  // namespace lastcall::ipc
