// The workers of each model as requests with a key see them: in the key's order (key_ring.hpp),
// with what they all have together, kept up while requests come and go instead of added up for
// each.
//
// Rules:
//  1. A worker is free that is neither skipped nor busy. The free ones share their requests; one
//     takes a key only while it has less than its share, times kMostOfAShare (affinity.hpp).
//  2. A worker that has changed is looked at again before the next choice, as is one that changes
//     by itself: because the time it is skipped for, or its last report, has come to its end.
//  3. It holds for one set of workers; another set needs another one.
//
// Pure: time is an argument. No thread rule.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/key_ring.hpp"

namespace lastcall::router {

class Worker;
class WorkerIndex;
using Time = std::chrono::milliseconds;

class KeyedWorkers {
 public:
  using Workers = std::vector<std::shared_ptr<Worker>>;
  /// Both outlive it. Workers have their ids in the order of their places.
  KeyedWorkers(Workers const& workers, WorkerIndex const& index);

  /// Its requests, or what else is known of it, are not what they were.
  void changed(Worker const& worker);

  struct Wanted {
    std::string_view model;
    std::uint64_t key = 0;
  };
  /// The first in the key's order that is free, has room, and was not tried (`tried`: ids). Place
  /// of it; nothing: none is free.
  std::optional<std::size_t> first_free(Wanted const& wanted, std::span<std::uint64_t const> tried,
                                        Time now);
  /// The same of those at these places, in ascending order.
  std::size_t first_of(Wanted const& wanted, std::span<std::size_t const> places, Time now);

 private:
  /// What a worker is counted with.
  struct Counted {
    std::uint64_t requests = 0;
    std::optional<Time> until;  // then it changes by itself
    std::string_view model;
    bool is_free = false;
    bool has_changed = false;
  };
  struct Sum {
    std::uint64_t requests = 0;
    std::uint64_t workers = 0;
  };

  KeyRing const& ring_of(std::string_view model);
  void look_at_changed(Time now);
  void look_at(std::size_t place, Time now);
  std::optional<std::size_t> place_of(std::uint64_t id) const;
  Sum free_of(std::string_view model) const;

  Workers const& workers_;
  WorkerIndex const& index_;
  std::vector<Counted> counted_;  // by place
  std::vector<std::size_t> changed_;
  using Due = std::pair<Time, std::size_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // some of them are over
  std::map<std::string_view, Sum> sums_;                            // those that serve any: ""
  std::map<std::string, KeyRing, std::less<>> rings_;               // of models that were asked for
};

}  // namespace lastcall::router
