// Blocks every signal on this thread while the object lives. Threads that are started meanwhile
// inherit the mask and keep it.
//
// A program that waits for its signals with signalfd(2) or sigwait(3) blocks them in its own
// threads only; a thread of ours without the mask would take those signals away from it.
//
// Thread rule: it is destroyed on the thread that made it. Source: pthread_sigmask(3), signal(7),
// 'Signal mask and pending signals'.
#pragma once

#include <csignal>

namespace lastcall {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(SignalsBlocked const&) = delete;
  SignalsBlocked& operator=(SignalsBlocked const&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace lastcall
