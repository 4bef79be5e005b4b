// Finds a worker with room for the work of a failed or draining one.
//
// Thread rule: the router's thread. Source: docs/router.md, 'How failures are contained'.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "ingress/poller.hpp"
#include "router/parts.hpp"

namespace lastcall::router {

struct Room {
  std::shared_ptr<Worker> worker;
  bool is_full = false;  // no worker has room, but without pacing one would
};

inline Room find_room(Parts& parts, Fleet::Wanted const& wanted, LegWork const& work,
                      std::span<std::uint64_t const> tried) {
  Time const now = monotonic_time();
  if (work.kind == LegWork::Kind::suspect && parts.pacing.has_suspect() &&
      parts.risk.deaths.are_many(wanted.model, now)) {
    return {nullptr, parts.fleet.choose(wanted, tried, now) != nullptr};
  }
  std::vector<std::uint64_t> without = parts.pacing.full(work);
  bool const is_paced = !without.empty();
  without.insert(without.end(), tried.begin(), tried.end());
  std::shared_ptr<Worker> worker = parts.fleet.choose(wanted, without, now);
  bool const is_full = !worker && is_paced && parts.fleet.choose(wanted, tried, now);
  return {std::move(worker), is_full};
}

}  // namespace lastcall::router
