// Remembers the requests that their client, an operator or a drain has just cut.
//
// An engine may announce a request after its client has left, because the announcement and the
// client's hang-up take different paths. Without this memory nothing would cancel such a request.
//
// Rules:
//  1. A request that ended after it was cancelled is remembered for `kMemory`, but only the latest
//     `kMost` of them are; so is a root whose requests an operator has cancelled.
//  2. An engine's request is late when the ingress relayed one of the same id that is remembered,
//     or when its parent or its root is remembered. A request that an engine announced itself may
//     be announced again under the same id: its client may use the id twice, or another engine may
//     work on a part of it. A request that is known not to have come through the ingress, or to
//     have come through it as another request, is not a part of the relayed one.
//  3. An id that the ingress relays again is a new request, and the old one is forgotten.
//
// Values only, expires lazily, owned by the core's thread. Source: specification, 'Cancellation':
// requests that are announced after their client has left.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/event.hpp"
#include "core/instant.hpp"
#include "core/mixer.hpp"

namespace lastcall::lifecycle {

/// How a request was cut, which is also how a request that belongs to it is cut.
struct Cut {
  CancelMode mode = CancelMode::kill;
  bool relayed = false;   // by the ingress
  std::uint64_t way = 0;  // RequestBegun::way, if it was relayed
};

class CutRequests {
 public:
  static constexpr Duration kMemory{60'000};
  static constexpr std::size_t kMost = 65'536;

  /// A request that had been cancelled has ended.
  void ended(Instant now, std::string_view id, Cut const& cut);
  /// A request begins: forgets what this supersedes, and returns whether the request is late.
  std::optional<Cut> begun(Instant now, RequestBegun const& request);

  std::size_t size() const { return by_id_.size(); }
  /// Calls visit(id, cut, until) for each request that is still remembered.
  template <typename Visit>
  void for_each(Instant now, Visit const& visit) const {
    for (auto const& [id, known] : by_id_) {
      if (now < known.until) {
        visit(std::string_view(id), known.cut, known.until);
      }
    }
  }
  void fingerprint(Mixer& m) const {
    std::uint64_t sum = 0;
    for_each(m.now, [&](std::string_view id, Cut const& cut, Instant until) {
      Mixer one{m.now};
      one.all(id, cut.mode, cut.relayed, cut.way, until);
      sum += one.hash;
    });
    m.put(sum);
  }

 private:
  struct Known {
    Cut cut;
    Instant until;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view id) const { return std::hash<std::string_view>{}(id); }
  };
  struct Due {
    Instant until;
    std::string id;
  };

  Cut const* find(Instant now, std::string_view id) const;
  void forget(std::string_view id);
  void expire(Instant now);

  std::unordered_map<std::string, Known, Hash, std::equal_to<>> by_id_;
  std::deque<Due> due_;  // oldest first; void if its instant differs from its id's
};

}  // namespace lastcall::lifecycle
