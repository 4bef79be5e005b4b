#include "discovery/detached_thread.hpp"

#include <csignal>
#include <memory>
#include <utility>

#include <pthread.h>

namespace lastcall::discovery {

bool start_detached_thread(std::string const& name, std::size_t stack_size,
                           std::function<void()> body) {
  using Body = std::function<void()>;
  auto owned = std::make_unique<Body>(std::move(body));
  auto const run = [](void* argument) -> void* {
    std::unique_ptr<Body> const mine(static_cast<Body*>(argument));
    (*mine)();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_size);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_t thread{};
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited
  bool const started = pthread_create(&thread, &attributes, run, owned.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (started) {
    static_cast<void>(owned.release());  // the thread has it now
    pthread_setname_np(thread, name.substr(0, 15).c_str());
  }
  return started;
}

}  // namespace lastcall::discovery
