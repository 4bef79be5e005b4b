// The memory that the records of all requests may take together: when it is full, the largest is
// dropped first, and its request can no longer be continued.
//
// Rules:
//  1. Holders know what they reported last. One that goes away reports that it has nothing first.
//  2. The largest is found among those of its power of two: finding it costs the same however many
//     there are.
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

  /// `holder` now has `bytes`; 0 means that it is not a holder.
  void set(Holder& holder, std::size_t bytes);
  /// The holder to drop if the limit is exceeded, or null.
  Holder* excess() const;
  std::size_t used() const { return used_; }

 private:
  std::size_t const most_;
  std::size_t used_ = 0;
  std::array<Ring<Holder>, 65> classes_;  // by the width of the size
};

}  // namespace lastcall::router::continuation
