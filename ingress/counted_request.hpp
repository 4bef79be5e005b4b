// The part of a request that the core counts: its place, its name, and its reports to the core.
//
// Invariants:
//  1. Each request that counts begins once and, unless it was refused, ends once.
//  2. A request that does not count needs no place, and is not reported.
//
// Thread rule: the proxy's thread. Source: docs/ingress.md, 'What counts'.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/admission_limits.hpp"
#include "core/vocabulary.hpp"
#include "ingress/delivered.hpp"
#include "ingress/tracker.hpp"
#include "relay/endpoint_name.hpp"
#include "relay/exchange.hpp"
#include "relay/http_head.hpp"
#include "relay/refusal.hpp"

namespace lastcall::ingress {

struct ProxyParts;

/// The facts that are known about the sender.
struct Asker {
  /// The engine keeps the request until its first byte, even without a client.
  bool defers_cancel = false;
  bool is_router = false;                       // it has announced itself as a router
  std::chrono::milliseconds notified_of_cut{};  // and was notified that it will be cut at this time
  std::string address = {};                     // the address of its connection
  /// The request of the tier above that this one is a part of; absent for most.
  std::unique_ptr<std::string> parent = {};
};

class CountedRequest {
 public:
  enum class Standing : std::uint8_t {
    arriving,  // it has not asked for its place
    passes,    // it needs no place
    waits,
    runs,
    refused,
    left,  // it runs without its client
    over,
  };

  /// `exchange` and the endpoint's name outlive it. The endpoint does not count if the request will
  /// only be refused.
  CountedRequest(ProxyParts& parts, relay::Exchange& exchange, relay::EndpointName const& endpoint);

  std::string const& id() const { return exchange_.id(); }
  Standing standing() const { return standing_; }
  bool counts() const { return counts_; }
  /// Whether the core has received its begin and not its end.
  bool is_tracked() const;
  /// The serial of Begun, which is drawn when it asks for its place; 0 before.
  std::uint64_t serial() const { return serial_; }
  /// The value of Begun::way; 0 if it does not count.
  std::uint64_t way() const { return way_; }

  /// Reads the priority, the parent and other facts from the head.
  void describe(relay::RequestHead const& head, std::string_view target, std::string_view client);
  Delivered delivered() const;
  Asker const& asker() const { return asker_; }
  /// Returns true once for each new `cut_at`, if the request is a router's, which must be notified
  /// of it.
  bool is_news(std::chrono::milliseconds cut_at) {
    return asker_.is_router && std::exchange(asker_.notified_of_cut, cut_at) != cut_at;
  }

  /// Asks for its place.
  Admission ask();
  /// Handles the answer to a request that waits. Returns false if it does not wait.
  bool granted();
  bool refused();

  void report(relay::Received const& received);
  void hand_off(relay::Refusal const& refusal);
  /// `stop`: the request still goes to the engine, or stays there.
  void client_gone(lifecycle::CancelMode mode);
  void end();

 private:
  ProxyParts& parts_;
  relay::Exchange& exchange_;
  Standing standing_ = Standing::arriving;
  bool const counts_;
  bool streaming_ = false;
  std::uint8_t priority_ = lifecycle::kUsualPriority;
  Asker asker_;
  std::uint64_t serial_ = 0;
  std::uint64_t way_ = 0;
  std::string_view endpoint_;  // one of the names in the options, or one of the API
  std::string model_;
  std::chrono::milliseconds began_at_{};
};

}  // namespace lastcall::ingress
