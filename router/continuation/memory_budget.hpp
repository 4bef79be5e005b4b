// The memory that the records of all requests may take together: when it is full, the largest is
// dropped first, and its request can no longer be continued.
//
// Rules:
//  1. Holders know what they reported last, and report it with each change.
//  2. The largest is found among those of its power of two: finding it costs the same however many
//     there are.
//
// Pure, one thread. Source: docs/continuation.md, 'Memory'.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <unordered_set>

namespace lastcall::router::continuation {

class MemoryBudget {
 public:
  using Holder = void*;

  explicit MemoryBudget(std::size_t most) : most_(most) {}

  /// `holder` now has `bytes`, and had `before`; 0 means that it is not a holder.
  void set(Holder holder, std::size_t before, std::size_t bytes);
  /// The holder to drop if the limit is exceeded.
  std::optional<Holder> excess() const;
  std::size_t used() const { return used_; }

 private:
  std::size_t const most_;
  std::size_t used_ = 0;
  std::array<std::unordered_set<Holder>, 65> classes_;  // by the width of the size
};

}  // namespace lastcall::router::continuation
