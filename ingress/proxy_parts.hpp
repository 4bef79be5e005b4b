// State that the connections of one proxy share.
//
// Thread rule: the proxy's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "ingress/client_parts.hpp"
#include "ingress/engine_pool.hpp"
#include "ingress/live_requests.hpp"
#include "ingress/tracker.hpp"

namespace lastcall::ingress {

struct ProxyParts : ClientParts {
  /// `receiver`, `budget`, `makes` and `ids` outlive it.
  ProxyParts(boost::asio::io_context& io, Options what, Tracker& receiver, MemoryBudget& budget,
             RequestMaker& makes, SharedIds* ids, std::uint64_t first_serial)
      : ClientParts(io, std::move(what), receiver, budget, makes),
        tracker(receiver),
        requests(ids, first_serial),
        engine(*this, options.upstream) {}

  std::size_t waiting_bytes = 0;  // bytes of bodies whose requests have no place yet
  Tracker& tracker;
  LiveRequests requests;
  EnginePool engine;
  std::string last_served;  // the last model in the engine's answers
  /// The time that was announced to routers in a drain.
  std::optional<std::chrono::milliseconds> cut_at{};
};

}  // namespace lastcall::ingress
