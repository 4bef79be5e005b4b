// Every signal is blocked while this lives, and in the threads that are made meanwhile for good.
//
// A program that waits for its signals with signalfd(2) or sigwait(3) blocks them in its own
// threads only; one of ours that took them would take them away. Thread rule: ends on the thread on
// which it began. Source: pthread_sigmask(3), signal(7), 'Signal mask and pending signals'.
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
