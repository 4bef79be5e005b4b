#include "sdk/cpp/fork_watch.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>

#include "sdk/cpp/session.hpp"

namespace lastcall::sdk {
namespace {

std::atomic<std::uint64_t> generation{1};

struct Watched {
  std::mutex mutex;
  std::vector<Session*> sessions;
};

Watched& watched() {
  // The object outlives everything that runs at exit, such as a client of static storage or a
  // thread that has yet to end.
  static Watched& all = *std::make_unique<Watched>().release();
  return all;
}

/// Only one thread runs in the child, so nothing else uses a session there.
void enter_child() {
  generation.fetch_add(1, std::memory_order_relaxed);
  for (Session* const session : watched().sessions) {
    session->abandon_in_child();
  }
  watched().sessions.clear();
  watched().mutex.unlock();
}

}  // namespace

std::uint64_t fork_generation() {
  return generation.load(std::memory_order_relaxed);
}

void watch_forks(Session& session) {
  [[maybe_unused]] static int const kForkRule = ::pthread_atfork(
      [] { watched().mutex.lock(); }, [] { watched().mutex.unlock(); }, enter_child);
  std::lock_guard const lock(watched().mutex);
  watched().sessions.push_back(&session);
}

void unwatch_forks(Session& session) {
  std::lock_guard const lock(watched().mutex);
  std::erase(watched().sessions, &session);
}

}  // namespace lastcall::sdk
