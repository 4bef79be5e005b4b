#include "base/thread.hpp"

#include <memory>
#include <utility>

#include "base/signals_blocked.hpp"

namespace lastcall {
namespace {

using Body = std::function<void()>;

void* run(void* argument) {
  std::unique_ptr<Body> const body(static_cast<Body*>(argument));
  (*body)();
  return nullptr;
}

/// 0, or the error number; `state` as in pthread_attr_setdetachstate(3).
int start(pthread_t& thread, int state, std::size_t stack_size, std::string const& name,
          Body body) {
  auto owned = std::make_unique<Body>(std::move(body));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_size);
  pthread_attr_setdetachstate(&attributes, state);
  int error = 0;
  {
    SignalsBlocked const inherited;
    error = pthread_create(&thread, &attributes, &run, owned.get());
  }
  pthread_attr_destroy(&attributes);
  if (error == 0) {
    static_cast<void>(owned.release());  // the thread owns it now
    pthread_setname_np(thread, name.substr(0, 15).c_str());
  }
  return error;
}

}  // namespace

int SmallThread::start(std::string const& name, std::function<void()> body) {
  int const error =
      lastcall::start(thread_, PTHREAD_CREATE_JOINABLE, kSmallStack, name, std::move(body));
  running_ = error == 0;
  return error;
}

void SmallThread::join() {
  if (std::exchange(running_, false)) {
    pthread_join(thread_, nullptr);
  }
}

bool start_detached_thread(std::string const& name, std::size_t stack_size,
                           std::function<void()> body) {
  pthread_t thread{};
  return start(thread, PTHREAD_CREATE_DETACHED, stack_size, name, std::move(body)) == 0;
}

}  // namespace lastcall
