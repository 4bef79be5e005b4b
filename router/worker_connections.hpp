// The connections to the workers: one pool each, with the addresses of its worker's name.
//
// Invariants:
//  1. A worker has its pool from the moment that it is known until it has left and its last
//     connection is closed.
//  2. The name in its URL is looked up off the loop: when it comes, again `timeouts.lookup` after
//     the last answer, and at once, at most every kSoonest, when no worker can be reached at its
//     address. While nothing is known of a name connections to it wait.
//  3. A lookup that fails leaves the last known addresses, and is repeated soon. Addresses that
//     change close what is kept for a next request; requests that run are left alone.
//  4. Workers with `https` are spoken to with one context of TLS.
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

  /// Both outlive it.
  WorkerConnections(boost::asio::io_context& io, Parts& parts);
  ~WorkerConnections();

  /// Reads the files of `worker_tls`, where some are set. Returns what is wrong with them, or
  /// nothing.
  std::string start();
  /// Empty, or why it cannot be reached: then no connection to it is made.
  std::string open(Worker const& worker);
  /// It has left: what is unused is closed.
  void close(Worker const& worker);
  /// Nothing where none can be had.
  ingress::Upstream* acquire(Worker const& worker, bool fresh);
  /// No worker can be reached there.
  void avoid(Worker const& worker, std::size_t address);
  /// A connection of a worker that has left is closed: its pool may go.
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
  NameLookups lookups_;  // last: what it calls is still there
};

}  // namespace lastcall::router
