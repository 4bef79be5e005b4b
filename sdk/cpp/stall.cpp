#include "sdk/cpp/stall.hpp"

#include <chrono>
#include <string>

namespace lastcall::sdk {
namespace {

constexpr std::chrono::seconds kPatience{1};

}  // namespace

void Stall::begin_round(Clock::time_point now) {
  busy_ = ::pthread_self();
  since_ = now.time_since_epoch().count();
}

void Stall::report() {
  auto since = since_.load();
  Clock::duration const lasts = Clock::now().time_since_epoch() - Clock::duration(since);
  if (since == 0 || lasts < kPatience || ::pthread_equal(busy_, ::pthread_self()) != 0 ||
      !since_.compare_exchange_strong(since, 0)) {
    return;
  }
  log_("a callback has held up the connection for " +
       std::to_string(std::chrono::floor<std::chrono::milliseconds>(lasts).count()) +
       " ms; nothing reaches the supervisor until it returns");
}

}  // namespace lastcall::sdk
