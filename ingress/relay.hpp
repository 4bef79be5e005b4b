// Relays requests on the loop's own thread, or on threads beside it.
//
// Rules:
//  1. Orders are carried out in their sequence, in each thread.
//  2. Its Tracker receives everything on the loop's thread, whichever thread relays.
//
// Thread rule: the loop's thread. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "ingress/listener.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/proxy.hpp"

namespace lastcall::ingress {

class Relay {
 public:
  using Order = std::function<void(Proxy&)>;

  Relay() = default;
  Relay(Relay const&) = delete;
  Relay& operator=(Relay const&) = delete;
  virtual ~Relay() = default;

  virtual Listener& listener() = 0;
  /// Calls each proxy.
  virtual void order(Order const& order) = 0;

  /// The serial of the request that has this id now; 0 if there is none that asked for its place.
  virtual std::uint64_t serial_of(std::string_view id) const = 0;
  // Like the functions of Proxy.
  virtual void admitted(Request const& request) = 0;
  virtual void rejected(Request const& request, relay::Refusal const& refusal) = 0;
  virtual void cut(Request const& request, relay::Refusal const& refusal, bool at_once) = 0;

  /// The result of Tracker::engine_may_be_gone() has changed.
  virtual void engine_changed() = 0;
  /// Calls back once all orders were carried out and the Tracker has received the results.
  virtual void after_orders(std::function<void()> then) = 0;
  /// Whether all orders were carried out and reported, nothing waits to be written to a client, and
  /// no request waits for the core's decision.
  /// It is polled; the answer may be one call late.
  virtual bool is_flushed() = 0;
  virtual MemoryBudget& memory() = 0;
};

/// One proxy on the loop's thread, without mailboxes and locks.
class LoopRelay final : public Relay {
 public:
  LoopRelay(boost::asio::io_context& io, Options const& options, Tracker& tracker)
      : memory_(options.max_buffer_memory),
        proxy_(io, options, tracker, memory_, {.client_left = [this] { listener_.client_left(); }}),
        listener_(
            io, {options.max_connections, options.max_connections_per_address},
            {.take = [this](Accepted accepted) { proxy_.adopt(std::move(accepted)); },
             .refused = [&tracker](relay::Refusal const& refusal) { tracker.refused(refusal); },
             .shed = [&tracker](Scarce what) { tracker.shed(what); },
             .slow = [&tracker](std::string_view kind,
                                Poller::Duration took) { tracker.slow_turn(kind, took); }}) {}

  Listener& listener() override { return listener_; }
  void order(Order const& order) override { order(proxy_); }
  std::uint64_t serial_of(std::string_view id) const override { return proxy_.serial_of(id); }
  void admitted(Request const& request) override { proxy_.admitted(request); }
  void rejected(Request const& request, relay::Refusal const& refusal) override {
    proxy_.rejected(request, refusal);
  }
  void cut(Request const& request, relay::Refusal const& refusal, bool at_once) override {
    proxy_.cut(request, refusal, at_once);
  }
  void engine_changed() override {}
  void after_orders(std::function<void()> then) override { then(); }
  bool is_flushed() override { return proxy_.is_flushed(); }
  MemoryBudget& memory() override { return memory_; }

 private:
  MemoryBudget memory_;
  Proxy proxy_;
  Listener listener_;
};

}  // namespace lastcall::ingress
