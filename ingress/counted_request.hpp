// A request for the core's counts: its place, its name, and its reports to the core.
//
// Invariants:
//  1. Each request that counts begins once and, unless it was refused, ends once.
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
  bool is_router = false;      // it has announced itself as a router
  std::chrono::milliseconds notified_of_cut{};  // and knows the time at which it will be cut
  std::string address = {};                     // of its connection
};

class CountedRequest {
 public:
  enum class Standing : std::uint8_t {
    arriving,  // it has not requested its place
    passes,    // it needs none
    waits,
    runs,
    refused,
    left,  // runs without its client
    over,
  };

  /// `exchange` and the endpoint's name outlive it. The endpoint does not count if the request will
  /// only be refused.
  CountedRequest(ProxyParts& parts, relay::Exchange& exchange, relay::EndpointName const& endpoint);

  Standing standing() const { return standing_; }
  bool counts() const { return counts_; }
  /// Whether the core has begun it and not received its end.
  bool is_tracked() const;
  /// The time since it requested its place; 0 before.
  std::uint64_t serial() const { return serial_; }
  /// The number of Begun; 0 if it does not count.
  std::uint64_t way() const { return way_; }

  /// Reads priority, parent and so on from its head.
  void describe(relay::RequestHead const& head, std::string_view target, std::string_view client);
  Delivered delivered() const;
  Asker const& asker() const { return asker_; }
  /// Returns true once if the request is a router's that must be notified when it will be cut.
  bool is_news(std::chrono::milliseconds cut_at) {
    return asker_.is_router && std::exchange(asker_.notified_of_cut, cut_at) != cut_at;
  }

  /// Requests its place.
  Admission ask();
  /// Handles the answer to a waiting request. Returns false if it does not wait.
  bool granted();
  bool refused();

  void report(relay::Received const& received);
  void hand_off(relay::Refusal const& refusal);
  /// `stop`: the engine gets it nevertheless.
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
