// Threads that relay, and their one connection to the core: their reports go to the Tracker on the
// loop's thread, and its decisions are mailed back.
//
// Invariants:
//  1. Only the core's thread knows the requests: one that a worker has begun exists from the moment
//     at which its report is received.
//  2. A decision names its request by id and serial, here and in the worker: a request that ended
//     meanwhile, and a later one with the same id, are not affected.
//  3. The loop's thread accepts, so that max_connections is one limit for all threads; a client
//     goes to the worker that has the fewest.
//
// Thread rule: the loop's thread. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingress/live_ids.hpp"
#include "ingress/relay.hpp"
#include "ingress/report.hpp"
#include "ingress/worker.hpp"

namespace lastcall::ingress {

class WorkerPool final : public Relay {
 public:
  WorkerPool(boost::asio::io_context& io, Options const& options, unsigned threads,
             Tracker& tracker);
  ~WorkerPool() override;

  /// Returns an empty text, or the reason why there are no threads.
  std::string start();

  Listener& listener() override { return listener_; }
  void order(Order const& order) override;
  std::uint64_t serial_of(std::string_view id) const override;
  void admitted(Request const& request) override;
  void rejected(Request const& request, relay::Refusal const& refusal) override;
  void cut(Request const& request, relay::Refusal const& refusal, bool at_once) override;
  void engine_changed() override;
  void after_orders(std::function<void()> then) override;
  bool is_flushed() override;
  MemoryBudget& memory() override { return memory_; }

 private:
  struct Seat {
    std::unique_ptr<Worker> worker;
    std::size_t given = 0;    // number of clients that it was ever given
    std::size_t clients = 0;  // those that have not left, as far as is known here
    std::size_t adopted = 0;  // those of `given` that it has adopted, by its own count
    std::size_t upstream = 0;
  };
  struct Live {
    std::size_t seat = 0;
    std::uint64_t serial = 0;
  };

  Worker::Mail mail_of(std::size_t seat);
  void take(Accepted accepted);
  void notify_engine();
  /// The worker of a request, if the request with that id is still the same one.
  Worker* worker_of(Request const& request) const;
  /// Calls back once all workers have carried out their orders.
  void ask(std::function<void(bool is_flushed)> const& answered);

  void receive(std::size_t seat, report::Begun const& reported);
  void receive(std::size_t seat, report::FirstByte const& reported);
  void receive(std::size_t seat, report::Moved const& reported);
  void receive(std::size_t seat, report::ClientGone const& reported);
  void receive(std::size_t seat, report::Ended const& reported);
  void receive(std::size_t seat, report::HandedOff const& reported);
  void receive(std::size_t seat, report::EventGap const& reported);
  void receive(std::size_t seat, report::ErrorHeld const& reported);
  void receive(std::size_t seat, report::Evicted const& reported);
  void receive(std::size_t seat, report::Shed const& reported);
  void receive(std::size_t seat, relay::Refusal const& reported);
  void receive(std::size_t seat, report::GreetingFailed const& reported);
  void receive(std::size_t seat, report::ControlCalled const& reported);
  void receive(std::size_t seat, report::SlowTurn const& reported);
  void receive(std::size_t seat, report::Connections const& reported);

  boost::asio::io_context& io_;
  Tracker& tracker_;
  /// Messages that were posted may outlive this.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  LiveIds ids_;
  MemoryBudget memory_;
  Listener listener_;
  std::unordered_map<std::string, Live> live_;
  bool engine_may_be_gone_ = false;
  bool engine_may_be_dying_ = false;
  bool is_asking_ = false;
  bool is_flushed_ = false;
  std::size_t next_ = 0;  // index of the seat that is preferred if several have the fewest clients
  std::vector<Seat> seats_;  // last member, so that its threads end first
};

}  // namespace lastcall::ingress
