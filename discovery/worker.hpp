// Runs blocking work outside the loop, on one thread that exists only while there is work.
//
// Invariants:
//  1. Jobs run one after the other, in order; `then` runs on the loop after its job.
//  2. The thread starts with the first job and ends with the last: registries work briefly at start
//     and stop, and an idle supervisor should not keep their stacks in between.
//  3. Destroying the worker never waits. A job that hangs is left behind with what it holds; no
//     `then` is called afterwards.
//
// Thread rule: run() and destruction on the loop thread. The job must own what it touches.
// Source: base/thread.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/thread.hpp"

namespace lastcall::discovery {

class Worker {
 public:
  Worker(boost::asio::any_io_executor executor, std::string thread_name,
         std::size_t stack_size = kSmallStack);
  ~Worker();
  Worker(Worker const&) = delete;
  Worker& operator=(Worker const&) = delete;

  void run(std::function<void()> job, std::function<void()> then);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lastcall::discovery
