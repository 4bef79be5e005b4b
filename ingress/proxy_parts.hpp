// State that the connections of one proxy share.
//
// Thread rule: the proxy's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingress/deadlines.hpp"
#include "ingress/departure.hpp"
#include "ingress/engine_pool.hpp"
#include "ingress/live_requests.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/options.hpp"
#include "ingress/poller.hpp"
#include "ingress/tracker.hpp"
#include "relay/control_paths.hpp"

namespace lastcall::ingress {

/// How many connections there are, told whenever it changes.
class ConnectionCounts {
 public:
  explicit ConnectionCounts(Tracker& tracker) : tracker_(tracker) {}
  void clients(std::size_t count) {
    clients_ = count;
    tracker_.connections(clients_, upstream_);
  }
  void upstream(std::size_t count) {
    upstream_ = count;
    tracker_.connections(clients_, upstream_);
  }

 private:
  Tracker& tracker_;
  std::size_t clients_ = 0;
  std::size_t upstream_ = 0;
};

struct ProxyParts {
  static constexpr std::size_t kScratch = std::size_t{64} * 1024;

  /// `tracker`, `memory` and `ids` outlive it.
  ProxyParts(boost::asio::io_context& io, Options what, Tracker& told, MemoryBudget& budget,
             SharedIds* ids, std::uint64_t first_serial)
      : options(std::move(what)),
        control_paths(options.control.paths),
        tracker(told),
        memory(budget),
        counts(told),
        poller(io, [&told](std::string_view kind,
                           Poller::Duration took) { told.slow_turn(kind, took); }),
        deadlines(io, options.waits),
        requests(ids, first_serial),
        engine(*this),
        scratch(kScratch) {}

  std::size_t waiting_bytes = 0;  // of bodies whose requests have no place yet
  Options const options;
  relay::ControlPaths const control_paths;
  Tracker& tracker;
  MemoryBudget& memory;
  ConnectionCounts counts;
  Poller poller;
  Deadlines deadlines;
  Departure departure;
  LiveRequests requests;
  EnginePool engine;
  std::vector<char> scratch;  // what was read last; nothing in it outlives its handling
  std::string wire;           // what is written next; the same
  std::string last_served;    // the model that the engine answered for last
};

}  // namespace lastcall::ingress
