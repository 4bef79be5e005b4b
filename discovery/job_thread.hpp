// Runs blocking work outside the loop, on one thread that exists only while there is work.
//
// Invariants:
//  1. Jobs run one after the other, in order; `then` runs on the loop after its job.
//  2. The thread starts with the first job and ends with the last: registries work briefly at start
//     and stop, and an idle supervisor should not keep their stacks in between. A thread that is
//     kept waits for further jobs instead.
//  3. Destroying it never waits. A job that hangs is left behind with what it holds; no
//     `then` is called afterwards.
//  4. If no thread can be started, jobs that know their time run on the loop. Others, which may
//     hang for as long as a file system or a library does, never do: they wait for a thread, which
//     is tried again. A thread that is kept makes that rare, because it is there since the start.
//
// Thread rule: run() and destruction on the loop thread. The job must own what it touches.
// Source: base/thread.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/thread.hpp"

namespace lastcall::discovery {

class JobThread {
 public:
  enum class Life : std::uint8_t {
    for_each_burst,  // if it cannot be started, jobs run on the loop: each bounds its time there
    kept,            // jobs never run on the loop
  };

  JobThread(boost::asio::any_io_executor executor, std::string thread_name,
            std::size_t stack_size = kSmallStack, Life life = Life::for_each_burst);
  ~JobThread();
  JobThread(JobThread const&) = delete;
  JobThread& operator=(JobThread const&) = delete;

  void run(std::function<void()> job, std::function<void()> then);

 private:
  struct State;
  void start_later();

  std::shared_ptr<State> state_;
  boost::asio::steady_timer again_;
};

}  // namespace lastcall::discovery
