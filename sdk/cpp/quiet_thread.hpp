// A thread of ours in somebody else's program, which takes none of its signals: a program that
// waits for them with signalfd(2) or sigwait(3) blocks them in its own threads only.
//
// No thread rule. Source: pthread_sigmask(3), signal(7), 'Signal mask and pending signals'.
#pragma once

#include <csignal>

#include <pthread.h>

namespace lastcall::sdk {

/// An error of pthread_create(3), or 0.
inline int start_quiet_thread(pthread_t& thread, void* (*body)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread begins with its maker's
  int const problem = ::pthread_create(&thread, nullptr, body, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return problem;
}

}  // namespace lastcall::sdk
