#include "base/small_thread.hpp"

#include <csignal>
#include <cstddef>
#include <memory>
#include <utility>

namespace lastcall {

namespace {

constexpr std::size_t kStackSize = 512 * 1024;

void* run(void* argument) {
  std::unique_ptr<std::function<void()>> const body(static_cast<std::function<void()>*>(argument));
  (*body)();
  return nullptr;
}

}  // namespace

int SmallThread::start(std::string const& name, std::function<void()> body) {
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackSize);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the thread
  int const error = pthread_create(&thread_, &attributes, &run, owned.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error == 0) {
    static_cast<void>(owned.release());  // the thread has it now
    running_ = true;
    pthread_setname_np(thread_, name.substr(0, 15).c_str());
  }
  return error;
}

void SmallThread::join() {
  if (std::exchange(running_, false)) {
    pthread_join(thread_, nullptr);
  }
}

}  // namespace lastcall
