#include "supervisor/runtime/ingress/heap_trim.hpp"

#include <chrono>
#include <system_error>
#include <utility>

#include <malloc.h>
#include <pthread.h>

#include "base/signals_blocked.hpp"

namespace lastcall::runtime {
namespace {

constexpr std::chrono::seconds kPeriod{1};
/// A smaller amount is not worth the walk over the heap.
constexpr std::size_t kWave = std::size_t{4} * 1024 * 1024;
/// The same for the rest of a wave. Each walk halves the rest at least, so a few walks end it.
constexpr std::size_t kRest = std::size_t{256} * 1024;

}  // namespace

HeapTrim::HeapTrim(boost::asio::io_context& io, ingress::MemoryBudget& budget,
                   std::function<void(std::size_t bytes)> report)
    : timer_(io), budget_(budget), report_(std::move(report)) {
  wait();
}

HeapTrim::~HeapTrim() {
  if (trimmer_.joinable()) {
    trimmer_.join();
  }
}

void HeapTrim::wait() {
  timer_.expires_after(kPeriod);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) {
      look();
      wait();
    }
  });
}

void HeapTrim::look() {
  std::size_t const now = budget_.used();
  report_(now);
  if (has_fallen(now)) {
    rest_ = now;
    budget_.restart_peak();
    trim();
  }
}

bool HeapTrim::has_fallen(std::size_t now) const {
  std::size_t const peak = budget_.peak();
  return (peak >= kWave && now <= peak / 2) || (rest_ >= kRest && now <= rest_ / 2);
}

/// The walk takes tens of milliseconds. Meanwhile the loop continues as long as it needs nothing
/// from the heap that its own cache does not have.
void HeapTrim::trim() {
  if (trimmer_.joinable()) {
    trimmer_.join();  // it is at least a second old
  }
  SignalsBlocked const inherited;  // signals are for the main thread
  try {
    trimmer_ = std::thread([] { ::malloc_trim(0); });
  } catch (std::system_error const&) {
    ::malloc_trim(0);
  }
}

}  // namespace lastcall::runtime
