#include "router/keyed_workers.hpp"

#include <algorithm>

#include "router/affinity.hpp"
#include "router/fleet.hpp"
#include "router/worker_index.hpp"

namespace lastcall::router {

KeyedWorkers::KeyedWorkers(Workers const& workers, WorkerIndex const& index)
    : workers_(workers), index_(index), counted_(workers.size()) {
  changed_.reserve(workers.size());
  for (std::size_t place = 0; place < workers.size(); ++place) {
    counted_[place].model = workers[place]->model();
    counted_[place].has_changed = true;
    changed_.push_back(place);
  }
}

std::optional<std::size_t> KeyedWorkers::place_of(std::uint64_t id) const {
  auto const found = std::lower_bound(workers_.begin(), workers_.end(), id,
                                      [](std::shared_ptr<Worker> const& worker,
                                         std::uint64_t wanted) { return worker->id() < wanted; });
  bool const is_there = found != workers_.end() && (*found)->id() == id;
  return is_there ? std::optional(static_cast<std::size_t>(found - workers_.begin()))
                  : std::nullopt;
}

void KeyedWorkers::changed(Worker const& worker) {
  std::optional<std::size_t> const place = place_of(worker.id());
  if (place && !std::exchange(counted_[*place].has_changed, true)) {
    changed_.push_back(*place);
  }
}

void KeyedWorkers::look_at(std::size_t place, Time now) {
  Counted& counted = counted_[place];
  Worker const& worker = *workers_[place];
  Sum& sum = sums_[counted.model];
  if (counted.is_free) {
    sum.requests -= counted.requests;
    --sum.workers;
  }
  counted.has_changed = false;
  counted.is_free = worker.skipped_until() <= now && !worker.is_busy(now);
  counted.requests = worker.load(now);
  if (counted.is_free) {
    sum.requests += counted.requests;
    ++sum.workers;
  }
  std::optional<Time> const until = worker.changes_at(now);
  if (until && until != counted.until) {
    due_.emplace(*until, place);
  }
  counted.until = until;
}

void KeyedWorkers::look_at_changed(Time now) {
  for (; !due_.empty() && due_.top().first <= now; due_.pop()) {
    auto const& [at, place] = due_.top();
    if (counted_[place].until == at && !counted_[place].has_changed) {
      counted_[place].has_changed = true;
      changed_.push_back(place);
    }
  }
  for (std::size_t const place : changed_) {
    look_at(place, now);
  }
  changed_.clear();
}

KeyedWorkers::Sum KeyedWorkers::free_of(std::string_view model) const {
  Sum all;
  auto const add = [&](std::string_view name) {
    if (auto const found = sums_.find(name); found != sums_.end()) {
      all.requests += found->second.requests;
      all.workers += found->second.workers;
    }
  };
  add("");
  if (!model.empty()) {
    add(model);
  }
  return all;
}

KeyRing const& KeyedWorkers::ring_of(std::string_view model) {
  std::string_view const name = index_.announces(model) ? model : "";
  auto found = rings_.find(name);
  if (found == rings_.end()) {
    std::vector<KeyRing::Member> members;
    for (std::size_t const place : index_.of(name)) {
      members.push_back({place, workers_[place]->place()});
    }
    found = rings_.emplace(name, KeyRing(members)).first;
  }
  return found->second;
}

std::optional<std::size_t> KeyedWorkers::first_free(Wanted const& wanted,
                                                    std::span<std::uint64_t const> tried,
                                                    Time now) {
  look_at_changed(now);
  Sum free = free_of(wanted.model);
  std::vector<std::size_t> without;
  for (std::uint64_t const id : tried) {
    std::optional<std::size_t> const place = place_of(id);
    bool const is_known = place && workers_[*place]->serves(wanted.model) &&
                          std::find(without.begin(), without.end(), *place) == without.end();
    if (is_known && counted_[*place].is_free) {
      without.push_back(*place);
      free.requests -= counted_[*place].requests;
      --free.workers;
    }
  }
  if (free.workers == 0) {
    return std::nullopt;
  }
  std::uint64_t const most = bounded_load(free.requests + 1, free.workers);
  // One of them has room, because not all of them can have `most` requests.
  return ring_of(wanted.model).first(wanted.key, [&](std::size_t place) {
    return counted_[place].is_free && counted_[place].requests < most &&
           std::find(without.begin(), without.end(), place) == without.end();
  });
}

std::size_t KeyedWorkers::first_of(Wanted const& wanted, std::span<std::size_t const> places,
                                   Time now) {
  std::uint64_t requests = 1;
  for (std::size_t const place : places) {
    requests += workers_[place]->load(now);
  }
  std::uint64_t const most = bounded_load(requests, places.size());
  return ring_of(wanted.model)
      .first(wanted.key,
             [&](std::size_t place) {
               return std::binary_search(places.begin(), places.end(), place) &&
                      workers_[place]->load(now) < most;
             })
      .value_or(places.front());
}

}  // namespace lastcall::router
