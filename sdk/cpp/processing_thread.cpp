#include "sdk/cpp/processing_thread.hpp"

#include <system_error>
#include <utility>

#include "base/signals_blocked.hpp"

namespace lastcall::sdk {

ProcessingThread::~ProcessingThread() {
  if (exists_ && !is_joined_ && generation_ == fork_generation()) {
    ::pthread_detach(thread_);  // a callback has closed and destroyed the client
  }
}

void ProcessingThread::start(std::function<void()> body) {
  exists_ = true;
  body_ = std::move(body);
  SignalsBlocked const inherited;
  if (int const problem = ::pthread_create(&thread_, nullptr, run, this); problem != 0) {
    exists_ = false;
    body_ = nullptr;
    throw std::system_error(problem, std::generic_category(), "cannot start the client's thread");
  }
}

void* ProcessingThread::run(void* thread) {
  auto* const self = static_cast<ProcessingThread*>(thread);
  auto const body = std::exchange(self->body_, nullptr);
  body();
  self->is_over_ = true;  // the body, which keeps this object alive, ends after it
  return nullptr;
}

void ProcessingThread::join() {
  std::lock_guard const lock(joining_);
  if (!std::exchange(is_joined_, true)) {
    ::pthread_join(thread_, nullptr);
  }
}

}  // namespace lastcall::sdk
