// The workers that a request was sent to, and how many more it may be sent to.
//
// Pure, no thread rule. Source: docs/router.md, 'Choosing, and choosing again'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "router/fleet.hpp"

namespace lastcall::router {

class Attempts {
 public:
  explicit Attempts(std::size_t most) : most_(most) {}

  std::span<std::uint64_t const> tried() const { return tried_; }
  bool are_left() const { return tried_.size() < most_; }
  void note(Worker const& worker) { tried_.push_back(worker.id()); }
  /// A worker broke at it, which another one is asked about; the second that does is believed.
  bool is_believed() { return std::exchange(is_doubted_, true); }
  /// An answer goes on: all but the worker that it leaves may be asked, `until` somebody takes it.
  void begin_again(Worker const& leaves, Time until) {
    tried_.assign(1, leaves.id());
    until_ = until;
  }
  /// Nobody is left: all may be asked again, while there is time.
  bool wait(Time now) {
    tried_.clear();
    return now < until_;
  }

 private:
  std::size_t const most_;
  std::vector<std::uint64_t> tried_;  // workers
  Time until_{};
  bool is_doubted_ = false;
};

}  // namespace lastcall::router
