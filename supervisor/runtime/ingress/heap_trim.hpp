// Returns the memory of a wave of connections to the system.
//
// The allocator keeps what it was given: the free parts of a heap lie between those in use. A
// second after the memory of connections has fallen to half of a sufficiently large peak, they are
// given back. A wave leaves over several seconds: what a walk found still in use is given back the
// same way once half of it was freed, however little it is. Each check also updates the gauge.
//
// Thread rule: the loop's thread; the walk over the heap has one of its own. Source:
// malloc_trim(3).
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
  /// Bytes that the last walk found held: the rest of its wave.
  std::size_t rest_ = 0;
  std::thread trimmer_;
};

}  // namespace lastcall::runtime
