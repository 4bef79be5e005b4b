// The connections to the workers: one pool for each, with the addresses of its host name.
//
// Invariants:
//  1. A worker's pool exists from the time at which the worker becomes known until it has left and
//     its last connection is closed.
//  2. The name in its URL is looked up outside of the loop: when the worker appears, again
//     `timeouts.lookup` after the last answer, and at once, but at most every kSoonest, when the
//     worker cannot be reached at an address. Until the name is resolved, connections wait.
//  3. A lookup that fails keeps the last known addresses, and is repeated soon. When addresses
//     change, idle connections are closed, and running requests continue.
//  4. All workers with `https` share one TLS context.
//
// Thread rule: the router's thread. Source: docs/router.md, 'Workers'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "ingress/tls_client.hpp"
#include "router/fleet.hpp"
#include "router/name_lookups.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::ingress {
class Upstream;
}

namespace lastcall::router {

struct Parts;

class WorkerConnections {
 public:
  static constexpr std::chrono::milliseconds kSoonest{1'000};
  static constexpr std::chrono::milliseconds kLatest{30'000};

  /// Both outlive this.
  WorkerConnections(boost::asio::io_context& io, Parts& parts);
  ~WorkerConnections();

  /// Reads the files of `worker_tls`, if any are set. Returns the problem with them, or an empty
  /// text.
  std::string start();
  /// Makes the worker's pool. Returns an empty text, or the reason why no connection to the worker
  /// is made.
  std::string open(Worker const& worker);
  /// Called when the worker has left: unused connections are closed.
  void close(Worker const& worker);
  /// Null if no connection can be made.
  ingress::Upstream* acquire(Worker const& worker, bool fresh);
  /// Called when the worker cannot be reached at that address.
  void avoid(Worker const& worker, std::size_t address);
  /// Called when a connection of a worker that has left was closed, so that its pool may be
  /// removed.
  void swept(Worker const& worker);

 private:
  struct Pool;

  std::string load_tls();
  void look_up(std::uint64_t id, Pool& pool);
  void look_up_in(std::uint64_t id, Pool& pool, std::chrono::milliseconds wait);
  void look_up_soon(std::uint64_t id, Pool& pool);
  void came(std::uint64_t id, Pool& pool, Resolved const& found);

  boost::asio::io_context& io_;
  Parts& parts_;
  std::unique_ptr<ingress::TlsClientContext> tls_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Pool>> pools_;  // by Worker::id()
  NameLookups lookups_;  // last, so that everything that it calls still exists
};

}  // namespace lastcall::router
