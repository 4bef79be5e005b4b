// The workers that a request was sent to, and how many more it may be sent to.
//
// Pure, no thread rule. Source: docs/router.md, 'Choosing, and choosing again'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "router/fleet.hpp"

namespace lastcall::router {

class Attempts {
 public:
  explicit Attempts(std::uint32_t most) : most_(most) {}

  std::vector<std::uint64_t> tried() const {
    std::vector<std::uint64_t> all;
    if (first_ != 0) {
      all.push_back(first_);
    }
    if (search_) {
      all.insert(all.end(), search_->others.begin(), search_->others.end());
    }
    return all;
  }
  std::size_t count() const { return (first_ != 0) + (search_ ? search_->others.size() : 0); }
  bool are_left() const { return count() < most_; }
  void note(Worker const& worker) {
    if (first_ == 0) {
      first_ = worker.id();
    } else {
      search().others.push_back(worker.id());
    }
  }
  /// A worker failed with this request, so another one gets it; a second failure counts as the
  /// request's.
  bool is_believed() { return std::exchange(is_doubted_, true); }
  /// The request is sent again to a worker whose connection was closed as it was sent: either it
  /// crossed a close of an idle connection, or the worker has died of it.
  void note_crossed(Worker const& worker) { search().crossed = worker.id(); }
  bool has_crossed(Worker const& worker) const {
    return search_ && search_->crossed == worker.id();
  }
  /// An answer goes on: all but the worker that it leaves may be asked, `until` one of them takes
  /// it.
  void begin_again(Worker const& leaves, Time until) {
    ask_all();
    note(leaves);
    wait_until(until);
  }
  /// No worker is left, so all may be tried again.
  void ask_all() {
    first_ = 0;
    search().others.clear();
  }
  /// One of them answers, so the earlier attempts no longer matter.
  void have_ended() {
    first_ = 0;
    search_.reset();
  }
  void wait_until(Time until) { search().until = until; }
  bool may_wait(Time now) const { return search_ && now < search_->until; }

 private:
  struct Search {  // what most requests do without: the first worker answers
    std::vector<std::uint64_t> others;
    std::uint64_t crossed = 0;
    Time until{};
  };
  Search& search() {
    if (!search_) {
      search_ = std::make_unique<Search>();
    }
    return *search_;
  }

  std::uint64_t first_ = 0;  // worker; 0: none was tried
  std::unique_ptr<Search> search_;
  std::uint32_t const most_;
  bool is_doubted_ = false;
};

}  // namespace lastcall::router
