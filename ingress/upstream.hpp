// One connection to the engine: in the pool, or carrying the exchange of one client.
//
// Invariants:
//  1. A pooled connection that the engine closes leaves the pool at once.
//  2. Nothing is read while its client has not taken what came before.
//  3. An exchange that its client has left is here until the engine's first byte or end, or until
//     it took too long; then the connection is closed and the exchange has ended.
//
// Thread rule: the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "ingress/deadlines.hpp"
#include "ingress/poller.hpp"
#include "ingress/socket.hpp"

namespace lastcall::ingress {

class Client;
class Proxy;
struct Exchange;

class Upstream final : public Watched, public DeadlineOwner {
 public:
  /// `address`: of the engine's, the one that it connects to.
  Upstream(Proxy& proxy, std::size_t address);
  ~Upstream() override;

  /// False when it cannot even begin.
  bool connect();
  void ready(std::uint32_t events) override;
  void expired(Wait wait) override;

  void carry(Client& client) { client_ = &client; }
  /// Its client has gone; the engine is to have the rest of the request all the same.
  void outlive(std::unique_ptr<Exchange> exchange);
  /// Of that exchange, or 0.
  std::uint64_t serial() const;
  /// Breaks that exchange off.
  void let_go();
  /// Back to the pool, or closed.
  void release(bool keep);
  bool is_connected() const { return connected_; }
  bool was_used() const { return was_used_; }
  std::size_t address() const { return address_; }
  /// How much was taken; a broken connection shows when it is read.
  std::size_t write(std::string_view bytes, bool& broken);
  /// Nothing more is written; what the engine says is still read.
  void end_output() { ingress::end_output(socket_); }
  /// Reads and hands over as long as the client takes it.
  void pump();

 private:
  friend class Proxy;
  void send_left();
  bool has_begun(std::string_view bytes);
  void close();

  Proxy& proxy_;
  Socket socket_;
  std::size_t const address_;
  Client* client_ = nullptr;
  std::unique_ptr<Exchange> left_;
  Deadline deadline_{*this};
  bool connected_ = false;
  bool was_used_ = false;  // for an exchange before this one
  bool readable_ = false;
  bool closing_ = false;  // the engine has said its last
  bool pumping_ = false;
  bool dead_ = false;
};

}  // namespace lastcall::ingress
