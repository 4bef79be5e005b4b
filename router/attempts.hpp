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
  explicit Attempts(std::uint32_t most) : most_(most) {}

  std::span<std::uint64_t const> tried() const { return tried_; }
  bool are_left() const { return tried_.size() < most_; }
  void note(Worker const& worker) { tried_.push_back(worker.id()); }
  /// A worker failed with this request, so another one gets it; a second failure counts as the
  /// request's.
  bool is_believed() { return std::exchange(is_doubted_, true); }
  /// The request is sent again to a worker whose connection was closed as it was sent: either it
  /// crossed a close of an idle connection, or the worker has died of it.
  void note_crossed(Worker const& worker) { crossed_ = worker.id(); }
  bool has_crossed(Worker const& worker) const { return crossed_ == worker.id(); }
  /// An answer goes on: all but the worker that it leaves may be asked, `until` one of them takes
  /// it.
  void begin_again(Worker const& leaves, Time until) {
    tried_.assign(1, leaves.id());
    until_ = until;
  }
  /// No worker is left, so all may be tried again.
  void ask_all() { tried_.clear(); }
  /// One of them answers, so the earlier attempts no longer matter.
  void have_ended() { std::vector<std::uint64_t>().swap(tried_); }
  void wait_until(Time until) { until_ = until; }
  bool may_wait(Time now) const { return now < until_; }

 private:
  std::vector<std::uint64_t> tried_;  // workers
  std::uint64_t crossed_ = 0;
  Time until_{};
  std::uint32_t const most_;
  bool is_doubted_ = false;
};

}  // namespace lastcall::router
