// The workers of each model for requests with an affinity key: they are searched in the key's order
// (key_ring.hpp), and the sum of their requests is updated as requests come and go instead of being
// computed for each request.
//
// Rules:
//  1. A worker is free if it is neither skipped nor busy. The free ones share their requests; a
//     worker gets a key only while it has less than its share, times MostOfAShare (affinity.hpp).
//  2. A worker that has changed is examined again before the next choice. So is one that changes
//     without an event because its skip time ends or its last report expires.
//  3. An index belongs to one set of workers; another set needs another index.
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
  /// Both outlive this. The ids of the workers ascend in the order of their places.
  KeyedWorkers(Workers const& workers, WorkerIndex const& index);

  /// Must be called when the worker's requests, or other facts about it, have changed.
  void changed(Worker const& worker);

  struct Wanted {
    std::string_view model;
    std::uint64_t key = 0;
  };
  /// The first worker in the key's order that is free, has room, and was not tried (`tried`: ids).
  /// Returns its place; absent if none is free.
  std::optional<std::size_t> first_free(Wanted const& wanted, std::span<std::uint64_t const> tried,
                                        Time now);
  /// The same among the workers at these places, which are in ascending order.
  std::size_t first_of(Wanted const& wanted, std::span<std::size_t const> places, Time now);

 private:
  /// The values with which a worker is included in the sums.
  struct Counted {
    std::uint64_t requests = 0;
    std::optional<Time> until;  // the time at which it changes without an event
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
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // some entries are obsolete
  std::map<std::string_view, Sum> sums_;               // "" is for workers that serve any model
  std::map<std::string, KeyRing, std::less<>> rings_;  // only of models that were asked for
};

}  // namespace lastcall::router
