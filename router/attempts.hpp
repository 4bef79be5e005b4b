// The workers that a request was sent to, and how many more it may be sent to.
//
// Pure, no thread rule. Source: docs/router.md, 'Choosing, and choosing again'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "router/fleet.hpp"

namespace lastcall::router {

class Attempts {
 public:
  /// The ids of the workers, valid until the next change.
  std::span<std::uint64_t const> tried() const {
    if (search_ && !search_->all.empty()) {
      return search_->all;
    }
    return {&first_, first_ != 0 ? 1U : 0U};
  }
  std::size_t count() const { return tried().size(); }
  /// `most`: the number of workers that it may be sent to.
  bool are_left(std::uint32_t most) const { return count() < most; }
  void note(Worker const& worker) {
    if (count() == 0) {
      first_ = worker.id();
      return;
    }
    std::vector<std::uint64_t>& all = search().all;
    if (all.empty()) {
      all.push_back(first_);
    }
    all.push_back(worker.id());
  }
  /// Called when a worker has failed with this request. Returns false the first time, so that
  /// another worker gets the request; true after that, because a second failure is attributed to
  /// the request.
  bool is_believed() { return std::exchange(search().is_doubted, true); }
  /// Called when the request is sent again to a worker whose connection was closed while it was
  /// being sent: either the request crossed the closing of an idle connection, or it killed the
  /// worker.
  void note_crossed(Worker const& worker) { search().crossed = worker.id(); }
  bool has_crossed(Worker const& worker) const {
    return search_ && search_->crossed == worker.id();
  }
  /// An answer continues elsewhere: any worker except the one it leaves may be asked, until one
  /// accepts it or the time `until` has come.
  void begin_again(Worker const& leaves, Time until) {
    ask_all();
    note(leaves);
    search().has_waited = false;
    wait_until(until);
  }
  /// Called when no worker is left; all of them may then be tried again.
  void ask_all() {
    first_ = 0;
    search().all.clear();
  }
  /// Called when one of the workers answers, so the earlier attempts no longer matter.
  void have_ended() {
    first_ = 0;
    if (search_ && search_->is_doubted) {
      *search_ = {.is_doubted = true};
    } else {
      search_.reset();
    }
  }
  void wait_until(Time until) { search().until = until; }
  bool may_wait(Time now) const { return search_ && now < search_->until; }
  /// Called when it tries again after it has waited.
  void note_wait() { search().has_waited = true; }
  bool has_waited() const { return search_ && search_->has_waited; }

 private:
  /// Most requests do without it, because the first worker answers.
  struct Search {
    std::vector<std::uint64_t> all;  // empty for one or none
    std::uint64_t crossed = 0;
    Time until{};
    bool is_doubted = false;
    bool has_waited = false;  // since it was last sent to its first worker, or left one
  };
  Search& search() {
    if (!search_) {
      search_ = std::make_unique<Search>();
    }
    return *search_;
  }

  std::uint64_t first_ = 0;  // id of the first worker; 0 if none was tried
  std::unique_ptr<Search> search_;
};

}  // namespace lastcall::router
