// Sends load questions to each worker, outside of user traffic.
//
// Rules:
//  1. A question is `GET /metrics` of the worker, or of `load.port` at its host. It is asked again
//     `load.interval` after the last answer, and the first time at a random moment within that
//     interval, so that replicas and workers do not act in step.
//  2. A worker that does not answer reports nothing: its last report is valid for `load.max_age`,
//     and then it counts as free (fleet.hpp). The next question follows soon, so that its silence
//     is observed without a gap.
//  3. A worker that has left gets no more questions.
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
    /// Called when a question is sent to the worker at its own port.
    std::function<void(Worker& worker)> asks;
    std::function<void(Worker& worker, ReportedLoad const& load)> reported;
    /// Called when a worker has not answered such a question.
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
