// Returns the memory of a wave of connections to the system after the wave is over.
//
// The allocator keeps freed memory, because the free parts of a heap lie between parts in use. A
// second after the memory of connections has fallen to half of a sufficiently large peak, a walk
// over the heap returns the free parts. A wave ends over several seconds, so memory that a walk
// found still in use is returned in the same way once half of it has been freed, however little
// that is. Each check also updates the gauge.
//
// Thread rule: the loop's thread; the walk over the heap runs on a thread of its own.
// Source: malloc_trim(3).
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

#include <boost/asio/steady_timer.hpp>

#include "ingress/memory_budget.hpp"

namespace lastcall::runtime {

class HeapTrim {
 public:
  /// `budget` outlives this.
  HeapTrim(boost::asio::io_context& io, ingress::MemoryBudget& budget,
           std::function<void(std::size_t bytes)> report);
  ~HeapTrim();
  HeapTrim(HeapTrim const&) = delete;
  HeapTrim& operator=(HeapTrim const&) = delete;

 private:
  void wait();
  void look();
  bool has_fallen(std::size_t now) const;
  void trim();

  boost::asio::steady_timer timer_;
  ingress::MemoryBudget& budget_;
  std::function<void(std::size_t bytes)> const report_;
  /// Bytes that were still in use at the last walk: the rest of its wave.
  std::size_t rest_ = 0;
  std::thread trimmer_;
};

}  // namespace lastcall::runtime
