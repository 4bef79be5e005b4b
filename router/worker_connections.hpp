// The connections to the workers: one pool each.
//
// Invariants:
//  1. A worker has its pool from the moment that it is known until it has left and its last
//     connection is closed.
//  2. The name in its URL is looked up when it comes.
//
// Thread rule: the router's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ingress/engine_pool.hpp"
#include "ingress/poller.hpp"
#include "ingress/socket.hpp"
#include "router/fleet.hpp"

namespace lastcall::ingress {
struct ClientParts;
class Upstream;
}  // namespace lastcall::ingress

namespace lastcall::router {

class WorkerConnections {
 public:
  explicit WorkerConnections(ingress::ClientParts& parts);
  ~WorkerConnections();

  /// Empty, or why it cannot be reached: then no connection to it is made.
  std::string open(Worker const& worker);
  /// It has left: what is unused is closed.
  void close(Worker const& worker);
  /// Nothing where none is to be had.
  ingress::Upstream* acquire(Worker const& worker, bool fresh);
  void avoid(Worker const& worker, std::size_t address);
  /// A connection of a worker that has left is closed: its pool may go.
  void swept(Worker const& worker);

 private:
  struct Pool final : ingress::Buried {
    Pool(ingress::ClientParts& parts, std::vector<ingress::Endpoint> found);
    std::vector<ingress::Endpoint> const addresses;
    ingress::EnginePool connections;
  };

  ingress::ClientParts& parts_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Pool>> pools_;  // by Worker::id()
};

}  // namespace lastcall::router
