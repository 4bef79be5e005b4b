// The descriptors that a listener's thread waits for, each with the id that it reports when ready.
//
// Thread rule: open() before the thread starts, everything else on the thread. Source: epoll(7).
#pragma once

#include <cstdint>
#include <span>

#include <sys/epoll.h>

#include "base/descriptor.hpp"

namespace lastcall::probes {

class EpollSet {
 public:
  /// False, with errno, if there is no descriptor for it.
  bool open() {
    epoll_ = Descriptor{::epoll_create1(EPOLL_CLOEXEC)};
    return static_cast<bool>(epoll_);
  }

  /// Waits for input; false, with errno, if the kernel refuses.
  bool add(std::uint64_t id, int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }
  void change(std::uint64_t id, int fd, std::uint32_t events) {
    epoll_event event{.events = events, .data = {.u64 = id}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }
  void remove(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  /// How many are ready; less than 0 if a signal came.
  int wait(std::span<epoll_event> ready, int timeout_ms) {
    return epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), timeout_ms);
  }

 private:
  Descriptor epoll_;
};

}  // namespace lastcall::probes
