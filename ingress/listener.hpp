// The listener: accepts clients, and refuses those for which there is no room.
//
// Invariants:
//  1. At most `connections` clients are served at a time, by all threads together, and `of_address`
//     from one address. A further client is refused with an answer and closed, unless the one that
//     has been idle for longest makes room for it.
//  2. A client that has connected before the listener closes is served: the kernel would reset
//     clients in the queue of a listener that closes.
//  3. When no descriptor is left, a waiting client is refused with a spare one, or accepted as soon
//     as a client has left.
//
// Thread rule: the loop's thread. Source: docs/ingress.md, 'Limits'; accept(2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ingress/address_limit.hpp"
#include "ingress/poller.hpp"
#include "ingress/scarce.hpp"
#include "ingress/socket.hpp"
#include "ingress/tls.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

struct Accepted {
  Socket socket;
  std::unique_ptr<TlsSession> tls;  // absent if it speaks plain HTTP
  std::string address;
  AddressLimit::Place of_address;
  std::uint32_t place = 0;   // among all, in parts of 2^32: when it is closed in a drain
  bool is_too_many = false;  // another client has to make room, or this one is refused and closed
};

class Listener {
 public:
  struct Listeners {
    std::function<void(Accepted)> take;  // each of them is given back with client_left(), once
    std::function<void(relay::Refusal const&)> refused;
    std::function<void(Scarce)> shed;  // called in addition to refused()
    Poller::OnSlow slow;
  };
  struct Limits {
    std::size_t connections = 0;
    std::optional<std::uint32_t> of_address;
  };

  Listener(boost::asio::io_context& io, Limits const& limits, Listeners listeners);
  ~Listener();
  Listener(Listener const&) = delete;
  Listener& operator=(Listener const&) = delete;

  /// Clients speak TLS. Call it before open(), once.
  void secure(std::unique_ptr<TlsContext> tls) { tls_ = std::move(tls); }
  /// Takes over a listening, non-blocking descriptor.
  void open(int descriptor);
  /// Accepts connections that are established or being established, and no others.
  void take_no_newcomers();
  /// Call it after the last of them was accepted.
  void close();
  void client_left();

 private:
  class Door;

  void accept();
  bool accept_some();
  bool refuse_with_spare();
  void refuse_at_once(Socket socket, relay::Refusal const& refusal, Scarce what);

  Poller poller_;
  std::size_t const most_;
  AddressLimit of_address_;
  Listeners const listeners_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<TlsContext> tls_;
  std::size_t clients_ = 0;
  std::uint32_t next_place_ = 0;
  bool is_crowded_ = false;  // a client waits because no descriptor was left for it
};

}  // namespace lastcall::ingress
