// One connection to the engine: in the pool, or carrying the exchange of one client.
//
// Invariants:
//  1. A pooled connection that the engine closes leaves the pool at once.
//  2. Nothing is read while its client has not taken what came before.
//
// Thread rule: the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ingress/deadlines.hpp"
#include "ingress/poller.hpp"
#include "ingress/socket.hpp"

namespace lastcall::ingress {

class Client;
class Proxy;

class Upstream final : public Watched, public DeadlineOwner {
 public:
  Upstream(Proxy& proxy, Socket socket, bool connected);

  void ready(std::uint32_t events) override;
  void expired(Wait wait) override;

  void carry(Client& client) { client_ = &client; }
  /// Back to the pool, or closed.
  void release(bool keep);
  bool is_connected() const { return connected_; }
  bool was_used() const { return was_used_; }
  /// How much was taken; a broken connection shows when it is read.
  std::size_t write(std::string_view bytes, bool& broken);
  /// Reads and hands over as long as the client takes it.
  void pump();

 private:
  friend class Proxy;
  void close();

  Proxy& proxy_;
  Socket socket_;
  Client* client_ = nullptr;
  Deadline deadline_{*this};
  bool connected_;
  bool was_used_ = false;  // for an exchange before this one
  bool readable_ = false;
  bool closing_ = false;  // the engine has said its last
  bool pumping_ = false;
  bool dead_ = false;
};

}  // namespace lastcall::ingress
