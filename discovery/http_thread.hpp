// The thread on which one registry does its HTTP requests, with a deadline for each job.
//
// Invariants:
//  1. Jobs run one after the other; `then` runs on the loop after its job.
//  2. A job is interrupted at its deadline. A job whose deadline passes before its turn finds its
//     time gone when it runs: nothing waits for a server that hangs.
//  3. Destroying it never waits.
//  4. If no thread can be started, the job runs on the loop with 0.2 s at most: a server that
//     answers is still asked, and one that hangs does not hold up everything else.
//
// Thread rule: everything on the loop thread; a job must own what it touches.
// Source: job_thread.hpp, http_client.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "discovery/http_client.hpp"
#include "discovery/job_thread.hpp"

namespace lastcall::discovery {

class HttpThread {
 public:
  using Job = std::function<void(HttpClient& client, TimePoint deadline)>;

  HttpThread(boost::asio::any_io_executor executor, std::string thread_name, HttpTls tls,
             std::size_t stack_size = kSmallStack);
  ~HttpThread();
  HttpThread(HttpThread const&) = delete;
  HttpThread& operator=(HttpThread const&) = delete;

  void run(TimePoint deadline, Job job, std::function<void()> then);
  /// Interrupts the running job; then the next one begins.
  void interrupt();

 private:
  struct Shared;
  struct OnLoop;
  boost::asio::any_io_executor executor_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<OnLoop> on_loop_;
  JobThread thread_;
};

}  // namespace lastcall::discovery
