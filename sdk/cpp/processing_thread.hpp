// The client's own thread, if it has one.
//
// Rules:
//  1. What the thread runs keeps itself alive: a callback may destroy the client, and the thread
//     ends after it.
//  2. join() returns once the thread has ended, on whichever thread it is called, except on itself.
//  3. A forked child has no such thread, and lets the object be.
//
// Thread rule: start() once and before everything else; the rest from any thread. Source:
// ClientOptions::own_thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include <pthread.h>

#include "sdk/cpp/fork_watch.hpp"

namespace lastcall::sdk {

class ProcessingThread {
 public:
  ProcessingThread() = default;
  ~ProcessingThread();
  ProcessingThread(ProcessingThread const&) = delete;
  ProcessingThread& operator=(ProcessingThread const&) = delete;

  /// Throws std::system_error if there is no thread. All signals are blocked on it.
  void start(std::function<void()> body);
  bool exists() const { return exists_; }
  /// A thread that is over may have left its id to a new one.
  bool is_current() const {
    return exists_ && !is_over_ && ::pthread_equal(thread_, ::pthread_self()) != 0;
  }
  void join();

 private:
  static void* run(void* thread);

  std::uint64_t const generation_{fork_generation()};
  bool exists_{};
  std::atomic<bool> is_over_{};
  pthread_t thread_{};
  std::function<void()> body_;  // taken over by the thread when it starts
  std::mutex joining_;          // guards is_joined_
  bool is_joined_{};
};

}  // namespace lastcall::sdk
