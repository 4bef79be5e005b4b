// State that the requests of the router share.
//
// Thread rule: the router's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/ring.hpp"
#include "ingress/client_parts.hpp"
#include "ingress/request_id.hpp"
#include "router/alarms.hpp"
#include "router/busy_thresholds.hpp"
#include "router/departed_models.hpp"
#include "router/fleet.hpp"
#include "router/last_bytes.hpp"
#include "router/metrics.hpp"
#include "router/pacing.hpp"
#include "router/records.hpp"
#include "router/request_risk.hpp"
#include "router/settings.hpp"
#include "router/stall_watch.hpp"
#include "router/waiting_room.hpp"
#include "router/worker_connections.hpp"
#include "router/worker_probes.hpp"
#include "telemetry/log.hpp"

namespace lastcall::router {

class RoutedRequest;

struct Parts : ingress::ClientParts {
  /// All references outlive this.
  Parts(boost::asio::io_context& io, ingress::Options what, ingress::ConnectionObserver& reported,
        ingress::MemoryBudget& budget, ingress::RequestMaker& makes, Settings const& set,
        Metrics& counted, telemetry::Log& logged)
      : ClientParts(io, std::move(what), reported, budget, makes),
        settings(set),
        metrics(counted),
        log(logged),
        fleet({set.choosing.skip_first, set.choosing.skip_most}, [this] { return ids.draw(); }),
        connections(io, *this),
        last_bytes(*this),
        stalls(io, set.migration.stall),
        waiting(io, [this](std::size_t requests) { metrics.waiting(requests); }),
        alarms(io),
        pacing(set.migration.prefill_tokens, [this] { waiting.wake(); }),
        records(
            options.max_buffer_memory / 2,
            [this](std::size_t bytes, std::uint64_t dropped) { metrics.records(bytes, dropped); }),
        probes(io, *this) {}

  Settings const& settings;
  Metrics& metrics;
  telemetry::Log& log;
  ingress::RequestIds ids;
  Fleet fleet;
  DepartedModels departed;
  BusyThresholds thresholds;
  WorkerConnections connections;
  LastBytes last_bytes;
  StallWatch stalls;
  WaitingRoom waiting;
  Alarms alarms;
  Pacing pacing;
  SharedRisk risk;
  Records records;
  Ring<RoutedRequest> live;  // the requests that count
  std::string events;        // the part of an answer that is read; reused like `wire`
  WorkerProbes probes;       // last, because it has connections
};

}  // namespace lastcall::router
