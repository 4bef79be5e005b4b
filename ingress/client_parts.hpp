// State that the connections of one front share, however their requests are answered.
//
// Thread rule: the front's thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingress/client_request.hpp"
#include "ingress/connection_observer.hpp"
#include "ingress/control_gate.hpp"
#include "ingress/deadlines.hpp"
#include "ingress/departure.hpp"
#include "ingress/memory_budget.hpp"
#include "ingress/options.hpp"
#include "ingress/poller.hpp"
#include "relay/request_reader.hpp"

namespace lastcall::ingress {

/// Receives the number of connections whenever it changes.
class ConnectionCounts {
 public:
  explicit ConnectionCounts(ConnectionObserver& observer) : observer_(observer) {}
  void clients(std::size_t count) {
    clients_ = count;
    observer_.connections(clients_, upstream_);
  }
  void upstream_opened() { observer_.connections(clients_, ++upstream_); }
  void upstream_closed() { observer_.connections(clients_, --upstream_); }
  std::size_t upstream() const { return upstream_; }

 private:
  ConnectionObserver& observer_;
  std::size_t clients_ = 0;
  std::size_t upstream_ = 0;
};

struct ClientParts {
  static constexpr std::size_t kScratch = std::size_t{64} * 1024;

  /// `receiver`, `budget` and `makes` outlive it.
  ClientParts(boost::asio::io_context& io, Options what, ConnectionObserver& receiver,
              MemoryBudget& budget, RequestMaker& makes)
      : options(std::move(what)),
        control(options.control, receiver),
        observer(receiver),
        memory(budget),
        maker(makes),
        counts(receiver),
        poller(io, [&receiver](std::string_view kind,
                               Poller::Duration took) { receiver.slow_turn(kind, took); }),
        deadlines(io, poller, options.waits),
        scratch(kScratch) {}

  Options const options;
  ControlGate const control;
  ConnectionObserver& observer;
  MemoryBudget& memory;
  RequestMaker& maker;
  ConnectionCounts counts;
  Poller poller;
  Deadlines deadlines;
  Departure departure;
  std::vector<char> scratch;  // the last bytes that were read; nothing keeps a part of it
  relay::TakenHead taken;     // the head in `scratch`; too large to be created for each request
  std::string wire;           // the bytes to write next; reused for the same reason
};

}  // namespace lastcall::ingress
