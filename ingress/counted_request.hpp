// A request as the core counts it: its place, its name, and its reports to the core.
//
// Invariants:
//  1. For each request that counts: begun once, unless it was refused ended once.
//  2. A request that does not count needs no place, and is not reported.
//
// Thread rule: the proxy's thread. Source: docs/ingress.md, 'What counts'.
#pragma once

#include <chrono>
#include <cstdint>
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

/// The known facts about the sender.
struct Asker {
  bool defers_cancel = false;  // the engine keeps it until its first byte without a client, too
  bool is_router = false;      // it has announced itself as one
  std::chrono::milliseconds notified_of_cut{};  // and knows that it will be cut then
  std::string address = {};                     // of its connection
};

class CountedRequest {
 public:
  enum class Standing : std::uint8_t {
    arriving,  // it has not asked for its place
    passes,    // it needs none
    waits,
    runs,
    refused,
    left,  // runs, and its client has gone
    over,
  };

  /// `exchange` and the endpoint's name outlive it. The endpoint does not count where the request
  /// is only to be refused.
  CountedRequest(ProxyParts& parts, relay::Exchange& exchange, relay::EndpointName const& endpoint);

  Standing standing() const { return standing_; }
  bool counts() const { return counts_; }
  /// The core has begun it, and not received its end.
  bool is_tracked() const;
  /// Since it asked for its place; 0 before.
  std::uint64_t serial() const { return serial_; }
  /// The number that Begun has; 0 where it does not count.
  std::uint64_t way() const { return way_; }

  /// Takes priority, parent and so on from its head.
  void describe(relay::RequestHead const& head, std::string_view target, std::string_view client);
  Delivered delivered() const;
  Asker const& asker() const { return asker_; }
  /// The request is a router's that has not been notified yet that it will be cut then; now it is.
  bool is_news(std::chrono::milliseconds cut_at) {
    return asker_.is_router && std::exchange(asker_.notified_of_cut, cut_at) != cut_at;
  }

  /// Asks for its place.
  Admission ask();
  /// The answer of one that waits. False: it does not.
  bool granted();
  bool refused();

  void report(relay::Received const& received);
  void hand_off(relay::Refusal const& refusal);
  /// `stop`: the engine is to have it all the same.
  void client_gone(lifecycle::CancelMode mode);
  void end();

 private:
  ProxyParts& parts_;
  relay::Exchange& exchange_;
  Standing standing_ = Standing::arriving;
  bool const counts_;
  Asker asker_;
  bool streaming_ = false;
  std::uint8_t priority_ = lifecycle::kUsualPriority;
  std::uint64_t serial_ = 0;
  std::uint64_t way_ = 0;
  std::string_view endpoint_;  // one of the names that the options have, or the API
  std::string model_;
  std::string parent_;  // in the tier above, where one relays this
  std::chrono::milliseconds began_at_{};
};

}  // namespace lastcall::ingress
