// A client's socket, with or without TLS, and what is known about its input.
//
// Invariants:
//  1. The socket is edge-triggered, so `may_read()` stays true until a read has found nothing.
//  2. After the end of the client's output was seen, `has_ended()` stays true.
//
// Thread rule: the loop's thread. Source: epoll(7); tls.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ingress/socket.hpp"
#include "ingress/tls.hpp"

namespace lastcall::ingress {

class ClientSocket {
 public:
  /// `tls` is absent if the client speaks plain HTTP.
  ClientSocket(Socket socket, std::unique_ptr<TlsSession> tls);

  bool is_open() const { return static_cast<bool>(socket_); }
  int descriptor() const { return socket_.get(); }
  /// Absent if the client speaks plain HTTP.
  TlsSession* tls() const { return tls_.get(); }
  /// Whether a TLS session begins: then either direction may wait for both.
  bool is_greeting() const { return tls_ && !tls_->is_established(); }

  /// `events` are those that the poller reports.
  void note(std::uint32_t events);
  bool may_read() const { return may_read_; }
  /// Tries to read, although nothing was reported.
  void try_to_read() { may_read_ = true; }
  /// Whether the client has ended its output.
  bool has_ended() const { return has_ended_; }
  /// Looks for the end of the client's output while nothing is read.
  void look_for_end();
  /// The client has gone.
  void lose() { has_ended_ = true; }

  IoResult read(std::span<char> into);
  IoResult write(std::string_view bytes);
  /// The client did not begin with TLS, so that an answer in plain text reaches it.
  void drop_tls() { tls_.reset(); }

  /// Ends the output; input is still read.
  void end_output();
  /// Closes it with a reset.
  void abort() { socket_.abort(); }
  /// `is_orderly`: a TLS session is notified first.
  void close(bool is_orderly);

 private:
  Socket socket_;
  bool may_read_ = false;  // here, because there is room beside the descriptor
  bool has_ended_ = false;
  std::unique_ptr<TlsSession> tls_;
};

}  // namespace lastcall::ingress
