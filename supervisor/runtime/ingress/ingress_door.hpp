// When the ingress listens: from `starting` to the end of phase 2, and again with the next engine.
//
// Invariants:
//  1. After a stop it opens again only with the next engine, so it never opens again in a pod that
//     ends, whether or not the end was announced.
//  2. It opens again on the port that was free the first time, because routers know that one.
//
// Thread rule: the loop's thread. Source: docs/ingress.md, 'Drains and stops'.
#pragma once

#include <cstdint>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "config/schema.hpp"
#include "core/lifecycle.hpp"
#include "ingress/listener.hpp"
#include "telemetry/log.hpp"

namespace lastcall::runtime {

class IngressDoor {
 public:
  /// All outlive it.
  IngressDoor(boost::asio::io_context& io, config::Ingress const& config,
              ingress::Listener& listener, telemetry::Log& log);

  /// Reads the certificate, if there is one, and listens. Returns the reason why it cannot; empty
  /// if it listens.
  std::string open();
  /// The address at which it listens; empty before open().
  std::string const& address() const { return address_; }

  /// The core has entered a phase, or what is known of the engine has changed.
  void phase(lifecycle::Phase phase, lifecycle::Snapshot const& now);
  void engine_changed(lifecycle::Snapshot const& now);
  void close();

 private:
  enum class Listening : std::uint8_t { no, yes, with_next_engine };

  std::string secure();
  std::string listen();
  void take_no_newcomers();

  config::Ingress const& config_;
  ingress::Listener& listener_;
  telemetry::Log& log_;
  std::string address_;
  std::uint16_t port_;
  Listening listening_ = Listening::no;
  boost::asio::steady_timer last_arrivals_;
};

}  // namespace lastcall::runtime
