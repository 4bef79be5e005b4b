// Probes what each worker can do, outside of user traffic, for `migration.by: auto`.
//
// Theory of operation. A new worker gets a request for its list of models (which shows the engine
// and a model's name), and then a few requests for streams of one token at the endpoints for
// completions and chat (continuation/worker_probe.hpp). What it proves is noted in the fleet.
//
// Rules:
//  1. At most kMostAtOnce workers are probed at a time, each with one question after another; a
//     question may take kPatience.
//  2. A worker that does not answer, is busy or requires a key is probed again, after a time that
//     doubles up to kLongestWait. What was known about it is kept. A worker that requires a key
//     that the router does not have is reported once.
//  3. A worker that cannot be reached, or that refuses what it was found to accept, may be a
//     different process at the same URL, and is probed again (doubt()).
//
// Thread rule: the router's thread. Source: docs/continuation.md, 'What each worker can do'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "router/fleet.hpp"
#include "router/worker_key.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::router {

struct Parts;

class WorkerProbes {
 public:
  static constexpr std::size_t kMostAtOnce = 16;
  static constexpr std::chrono::seconds kPatience{30};
  static constexpr std::chrono::seconds kFirstWait{1};
  static constexpr std::chrono::seconds kLongestWait{60};

  /// `line` is what is known about the worker, as text; empty if nothing is.
  using Report = std::function<void(std::string const& url, std::string const& line)>;

  /// Both outlive this.
  WorkerProbes(boost::asio::io_context& io, Parts& parts);
  ~WorkerProbes();

  void listen(Report report) { report_ = std::move(report); }
  /// Must be called when `migration.by` was read or has changed.
  void configure();
  void follow(std::shared_ptr<Worker> const& worker);
  void forget(Worker const& worker);
  /// Called when what is known about the worker may no longer be true.
  void doubt(Worker const& worker);

 private:
  class Asking;

  void enqueue(Asking& asking);
  void begin_next();
  void ended(Asking& asking);
  void count() const;

  boost::asio::io_context& io_;
  Parts& parts_;
  Report report_;
  WorkerKey key_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Asking>> known_;  // by Worker::id()
  std::deque<std::uint64_t> queue_;                                   // workers whose turn has come
  std::size_t running_ = 0;
};

}  // namespace lastcall::router
