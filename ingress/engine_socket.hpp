// The socket of one connection to an engine, plain or with TLS.
//
// Thread rule: the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "ingress/socket.hpp"
#include "ingress/tls.hpp"

namespace lastcall::ingress {

class EnginePool;

class EngineSocket {
 public:
  enum class Reached : std::uint8_t { not_yet, yes, failed };

  Socket& plain() { return socket_; }
  int get() const { return socket_.get(); }
  bool is_open() const { return static_cast<bool>(socket_); }
  bool is_secure() const { return tls_ != nullptr; }

  /// Continues to connect. `yes`: the address answers and, if the pool uses TLS, both sides have
  /// verified each other. `events` are EPOLL* bits.
  Reached reach(EnginePool const& pool, std::uint32_t events);
  IoResult read(std::span<char> into) const {
    return tls_ ? tls_->read(into) : read_some(socket_, into);
  }
  IoResult write(std::string_view bytes) const {
    return tls_ ? tls_->write(bytes) : write_some(socket_, bytes);
  }
  bool is_quiet() const { return tls_ ? tls_->is_quiet() : ingress::is_quiet(socket_); }
  void end_output() const;
  void close();
  /// The connection was not made in time; the pool receives the reason if it is the handshake.
  void report_late(EnginePool const& pool) const;
  /// The connection broke; the pool receives the reason that TLS gives, if there is one.
  void report_failure(EnginePool const& pool) const;

 private:
  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  // absent for plain HTTP, or before it is reached
};

}  // namespace lastcall::ingress
