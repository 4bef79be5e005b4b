// One connection to the engine: in the pool, or carrying one request.
//
// Invariants:
//  1. A pooled connection that the engine closes leaves the pool at once. A connection that was
//     idle for a long time is checked once more before it is used: servers close idle connections
//     after some seconds, and the end may have come after the last poll.
//  2. Nothing is read from the engine while the request accepts nothing.
//  3. It is connected once a request can be written; with TLS, that is after the handshake.
//  4. If the pool has no address yet, the connection waits for one; that wait is a part of
//     connecting.
//
// Thread rule: the loop's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ingress/deadlines.hpp"
#include "ingress/engine_socket.hpp"
#include "ingress/poller.hpp"
#include "ingress/seats.hpp"

namespace lastcall::ingress {

class EnginePool;
struct ClientParts;

/// The request that owns a connection as its leg.
class LegOwner {
 public:
  LegOwner() = default;
  LegOwner(LegOwner const&) = delete;
  LegOwner& operator=(LegOwner const&) = delete;

  virtual void connected() = 0;
  virtual void connect_failed() = 0;
  virtual void engine_takes_more() = 0;
  virtual bool takes_response() const = 0;
  virtual void response(std::span<char> bytes) = 0;
  virtual void engine_ended(bool orderly) = 0;
  /// All bytes that came are handled; the request may hold more or less than before.
  virtual void handled() = 0;
  /// The deadline that the request had set for its connection has passed.
  virtual void expired(Wait wait) = 0;

 protected:
  ~LegOwner() = default;
};

class Upstream final : public Watched, public DeadlineOwner, public Seated {
 public:
  /// Both outlive it. `address` is the one of the pool's addresses that it connects to.
  Upstream(ClientParts& parts, EnginePool& pool, std::size_t address);

  /// Returns false if it cannot begin.
  bool connect();
  /// The connection waited for an address: now there is one, or there will be none.
  void address_came(std::size_t address);
  void ready(std::uint32_t events) override;
  std::string_view kind() const override { return "ingress_engine"; }
  void expired(Wait wait) override;

  void carry(LegOwner& owner) { owner_ = &owner; }
  /// The only deadline of the connection, which belongs to its owner while it carries a request. An
  /// owner whose engines listen on Unix sockets sets none before the connection is made
  /// (Wait::connect_again).
  void wait_for(std::optional<Wait> what);
  /// Returns the connection to the pool, or closes it.
  void release(bool keep);
  /// Takes the connection from the pool; returns false if the engine has closed it or sent
  /// unexpected bytes.
  bool is_usable();
  void close();
  bool is_connected() const { return connected_; }
  bool was_used() const { return was_used_; }
  std::size_t address() const { return address_; }
  /// Returns how much was accepted; a broken connection is noticed when it is read.
  std::size_t write(std::string_view bytes, bool& broken);
  /// Ends the output; the engine's bytes are still read.
  void end_output() { socket_.end_output(); }
  enum class When : std::uint8_t { now, next_turn };
  /// Reads and delivers as long as bytes are accepted. `next_turn`: begins in the next turn, with
  /// what was not accepted before.
  void pump(When when = When::now);

 private:
  std::uint32_t address_;
  ClientParts& parts_;
  EnginePool& pool_;
  EngineSocket socket_;
  LegOwner* owner_ = nullptr;
  Deadline deadline_{*this};
  std::chrono::milliseconds rests_since_{};  // since when it rests in the pool
  bool connected_ = false;
  bool was_used_ = false;  // whether it carried a request before this one
  bool readable_ = false;
  bool closing_ = false;  // the engine has sent its last byte
  bool pumping_ = false;
  bool dead_ = false;
};

}  // namespace lastcall::ingress
