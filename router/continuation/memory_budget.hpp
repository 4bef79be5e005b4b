// The limit on the memory that the records of all requests use together: when it is exceeded, the
// largest record is dropped first, and its request can no longer be continued.
//
// Rules:
//  1. A holder knows the size that it reported last. Before it is destroyed, it reports a size of
//     0.
//  2. Holders are grouped by the power of two of their size, and excess() takes one of the largest
//     group, so its cost does not depend on their number.
//
// Pure, one thread. Source: docs/continuation.md, 'Limits'.
#pragma once

#include <array>
#include <cstddef>

#include "base/ring.hpp"

namespace lastcall::router::continuation {

class MemoryBudget {
 public:
  class Holder : public RingLink {
   public:
    std::size_t bytes() const { return bytes_; }

   protected:
    Holder() = default;
    ~Holder() = default;

   private:
    friend class MemoryBudget;

    std::size_t bytes_ = 0;
  };

  explicit MemoryBudget(std::size_t most) : most_(most) {}

  /// Sets the size of `holder` to `bytes`; with 0 it holds nothing.
  void set(Holder& holder, std::size_t bytes);
  /// The holder to drop if the limit is exceeded; otherwise null.
  Holder* excess() const;
  std::size_t used() const { return used_; }

 private:
  std::size_t const most_;
  std::size_t used_ = 0;
  std::array<Ring<Holder>, 65> classes_;  // by the bit width of the size
};

}  // namespace lastcall::router::continuation
