// The memory that the records of all requests may take together: when it is full, the largest is
// dropped first, and its request can no longer be continued.
//
// Rules:
//  1. The sum counts what each holder reported last; it is never above the limit for longer than it
//     takes to drop one.
//  2. The largest is found among those of its power of two: finding it costs the same however many
//     there are.
//
// Pure, one thread. Source: docs/continuation.md, 'Memory'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace lastcall::router::continuation {

class MemoryBudget {
 public:
  using Holder = std::uint64_t;

  explicit MemoryBudget(std::size_t most) : most_(most) {}

  /// `holder` has `bytes` now. One to drop, where the limit is exceeded: it is counted no more.
  std::optional<Holder> set(Holder holder, std::size_t bytes);
  void leave(Holder holder);
  std::size_t used() const { return used_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  Holder largest() const;

  std::size_t const most_;
  std::size_t used_ = 0;
  std::uint64_t dropped_ = 0;
  std::unordered_map<Holder, std::size_t> sizes_;
  std::array<std::unordered_set<Holder>, 65> classes_;  // by the width of the size
};

}  // namespace lastcall::router::continuation
