// The bytes of a client's connection, in and out, its only deadline, and how it ends.
//
// Invariants:
//  1. Reading stops while bytes that were read are not used, so that there is back-pressure in both
//     directions.
//  2. Bytes are written at once; only what the socket does not accept waits here.
//  3. It is not closed while bytes are unread, because that would reset it and lose the last bytes
//     sent: it lingers until the client has read them.
//
// Thread rule: the loop's thread. Source: docs/ingress.md; RFC 9112, section 9.6, for lingering.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingress/client_socket.hpp"
#include "ingress/deadlines.hpp"
#include "ingress/listener.hpp"
#include "ingress/poller.hpp"
#include "ingress/unwritten.hpp"
#include "relay/delivery.hpp"
#include "relay/exchange.hpp"

namespace lastcall::ingress {

struct ClientParts;

/// The user of a connection's bytes.
class ConnectionOwner : public Watched, public DeadlineOwner {
 public:
  /// Whether bytes are to be read now: they can be used, or the connection lingers.
  virtual bool wants_input() const = 0;
  /// Uses bytes, and returns how many; 0 if it has to wait for something.
  virtual std::size_t use(std::span<char> bytes) = 0;
  /// Bytes that could not be used are kept, and none were before.
  virtual void kept() = 0;
  /// No more bytes come: the client has ended its output, or (`broken`) the connection.
  virtual void input_over(Io why) = 0;
  /// The connection is of no use any more.
  virtual void lost() = 0;
  /// The client has been sent everything that had to wait.
  virtual void written() = 0;
  /// The connection is to be closed. Close it with ClientConnection::close().
  virtual void close() = 0;
};

class ClientConnection {
 public:
  enum class State : std::uint8_t {
    open,
    ending,     // nothing follows what is written already
    lingering,  // our output has ended, and the client's is read until it ends
    closed,
  };

  ClientConnection(ClientParts& parts, ConnectionOwner& owner, Socket socket,
                   std::unique_ptr<TlsSession> tls);

  ClientSocket& socket() { return socket_; }
  ClientSocket const& socket() const { return socket_; }
  State state() const { return state_; }
  bool is_closed() const { return state_ == State::closed; }
  /// Whether the client was answered before it had sent everything, and may not have read that.
  bool was_answered_early() const {
    return state_ == State::lingering && linger_.after == relay::After::linger;
  }

  // Input. While bytes are being used, that loop continues on its own, and these functions do
  // nothing.
  /// Reads what has come, if it is wanted.
  void read_more();
  /// Like read_more(), but starts with bytes that were read and not used.
  void read_kept();
  /// The bytes that were read and not used.
  std::string const& kept() const { return in_; }

  // Output.
  void write(std::string_view bytes);
  /// The socket takes bytes again.
  void write_more();
  Unwritten const& unwritten() const { return out_; }
  /// Whether the client has been sent everything that was written.
  bool is_flushed() const { return out_.empty(); }
  /// A response that ends in silence or with a reset gets nothing more, not even what waits here;
  /// any other farewell is still to be written.
  void drop_output(relay::Farewell farewell);

  /// Sets the only deadline of the connection, which replaces the earlier one.
  void wait_for(Wait wait);
  void wait_for_nothing() { deadline_.disarm(); }

  // Its end.
  /// Ends it once everything is written. `linger` is how long the client has to read that.
  void end_once_written(relay::After after, Wait linger = Wait::linger);
  /// Ends it now.
  void end(relay::After after);
  void close();

 private:
  struct Linger {
    std::chrono::milliseconds since{};
    Wait wait = Wait::linger;
    relay::After after = relay::After::keep;  // of end_once_written()
  };

  void take_in(std::span<char> bytes);
  std::size_t use(std::span<char> bytes);

  ClientParts& parts_;
  ConnectionOwner& owner_;
  ClientSocket socket_;
  std::string in_;
  Unwritten out_;
  Deadline deadline_;
  [[no_unique_address]] Linger linger_;  // the next members are in the room behind it
  State state_ = State::open;
  bool is_using_ = false;
};

}  // namespace lastcall::ingress
