// Threads that live long and do little, and threads for calls that may hang.
//
// Rules:
//  1. Every signal is blocked on these threads (signals_blocked.hpp).
//  2. The stack is small because an ordinary one of 8 MiB is large enough for a transparent huge
//     page: where those are always on, the first touch would cost 2 MiB.
//  3. The body owns what it touches. The body of a detached thread may still run when the process
//     ends, and does not delay that.
//
// Thread rule: join from the owner's thread, once. Source: pthread_attr_setstacksize(3).
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <pthread.h>

namespace lastcall {

inline constexpr std::size_t kSmallStack = std::size_t{512} * 1024;

class SmallThread {
 public:
  SmallThread() = default;
  ~SmallThread() { join(); }
  SmallThread(SmallThread const&) = delete;
  SmallThread& operator=(SmallThread const&) = delete;

  /// 0, or the error number.
  int start(std::string const& name, std::function<void()> body);
  void join();

 private:
  pthread_t thread_{};
  bool running_ = false;
};

/// False if no thread could be started; then the body does not run.
bool start_detached_thread(std::string const& name, std::size_t stack_size,
                           std::function<void()> body);

}  // namespace lastcall
