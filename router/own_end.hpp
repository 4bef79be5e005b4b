// The router's own shutdown: new clients go elsewhere, running requests finish, and those that take
// too long are cut.
//
// Rules:
//  1. From the signal on, responses close their connections. This applies to a share of the
//     connections that grows evenly to all of them within `late_accept`; until then, new
//     connections are accepted.
//  2. The shutdown is over when no client is left, or when `grace_period` has passed since the
//     signal: then the remaining requests are cut, or refused if no worker has them, and their
//     clients have two seconds to read their last bytes.
//  3. Idle connections are closed a moment after the last connection was accepted, so a request
//     that is on its way by then, or whose body is still arriving, is served.
//  4. A further signal changes nothing.
//
// Thread rule: the router's thread. Source: docs/router.md, 'Shutdown'.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "ingress/clients.hpp"
#include "ingress/listener.hpp"
#include "router/parts.hpp"

namespace lastcall::router {

class OwnEnd {
 public:
  /// All of them outlive this; `over` is called once, at the end.
  OwnEnd(boost::asio::io_context& io, Parts& parts, ingress::Clients& clients,
         ingress::Listener& listener, std::function<void()> over);
  ~OwnEnd();

  /// Begins the shutdown. Returns false if it has begun before.
  bool begin();
  bool has_begun() const { return state_ != State::none; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { none, accepting, finishing, last_words };
  struct Timer;

  void look();
  /// Cuts the requests that have begun; the others are refused as their clients part.
  void cut();

  Parts& parts_;
  ingress::Clients& clients_;
  ingress::Listener& listener_;
  std::function<void()> const over_;
  std::unique_ptr<Timer> timer_;
  State state_ = State::none;
  Clock::time_point accepts_until_{};
  Clock::time_point ends_at_{};
};

}  // namespace lastcall::router
