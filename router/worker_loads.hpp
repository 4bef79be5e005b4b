// Asks each worker for its load, off the path of requests.
//
// Rules:
//  1. `GET /metrics` of the worker, or of `load.port` of its host; again `load.interval` after the
//     last answer, the first time at a random moment within it, so that replicas and workers do not
//     ask in step.
//  2. A worker that does not answer reports nothing: what it reported last holds for
//     `load.max_age`, then it counts as free (fleet.hpp). It is asked again soon, so that its
//     silence has no gap.
//  3. One that has left is not asked any more.
//
// Thread rule: the router's thread. Source: docs/router.md, 'Load'.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "router/fleet.hpp"
#include "router/load_text.hpp"
#include "router/settings.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

class WorkerLoads {
 public:
  struct Listeners {
    /// The worker is asked now, at its own port.
    std::function<void(Worker& worker)> asks;
    std::function<void(Worker& worker, ReportedLoad const& load)> reported;
    /// One that was asked so has not reported it.
    std::function<void(Worker& worker, NoLoad why)> reported_nothing;
  };

  WorkerLoads(boost::asio::io_context& io, LoadReading const& settings,
              std::function<std::uint64_t()> draw, Listeners listeners);
  ~WorkerLoads();

  void follow(std::shared_ptr<Worker> const& worker);
  void forget(Worker const& worker);

 private:
  struct Followed;

  void ask_in(Followed& followed, Duration wait);
  void ask(Followed& followed);

  boost::asio::io_context& io_;
  LoadReading const settings_;
  std::function<std::uint64_t()> const draw_;
  Listeners const listeners_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Followed>> followed_;  // by Worker::id()
};

}  // namespace lastcall::router
