// The requests of a drain or stop whose end no supervisor saw: the ingress of an earlier life ended
// with them, or its peers did not come back.
//
// Rules:
//  1. The number is that of the earlier life's last record: some of them may have ended before it
//     did, and others may have begun. It is 0 if it is not known, and absent if all were seen.
//  2. Requests of peers are unseen only as long as one of their peers is missing.
//
// Owned by the core's thread. Source: specification, 'Reconnecting'.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/mixer.hpp"

namespace lastcall::lifecycle {

class Unseen {
 public:
  using Count = std::optional<std::uint64_t>;

  /// A drain or stop begins, and its account with it.
  void begin() { ended_.reset(); }
  /// What lives before the last one did not see.
  void restore(Count ended) { ended_ = ended; }
  void streams_ended(std::uint64_t in_flight) { ended_ = std::max(ended_, Count(in_flight)); }
  void await_peers(Count in_flight) { of_peers_ = in_flight; }
  void peers_are_back() { of_peers_.reset(); }

  Count ended() const { return ended_; }
  Count of_peers() const { return of_peers_; }
  Count all() const { return std::max(ended_, of_peers_); }

  void fingerprint(Mixer& m) const { m.all(ended_.has_value(), of_peers_.has_value()); }

 private:
  Count ended_;
  Count of_peers_;
};

}  // namespace lastcall::lifecycle
