// A thread for a long life of little work.
//
// Its stack is small because an ordinary 8 MiB one is large enough for a transparent huge page:
// where those are always on, the first touch would cost 2 MiB. It takes no signals, so that they go
// to the thread that waits for them. Thread rule: join from the owner's thread, once.
// Source: pthread_attr_setstacksize(3), pthread_sigmask(3).
#pragma once

#include <functional>
#include <string>

#include <pthread.h>

namespace lastcall {

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

}  // namespace lastcall
