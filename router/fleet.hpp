// The workers that are known, and which of them gets a request.
//
// Rules:
//  1. A worker is its URL; sources name it, and it is there as long as one of them does. One that
//     has left gets nothing new from that moment; what it serves goes on.
//  2. Of two workers drawn at random the one with fewer requests of ours in flight is chosen
//     (power of two choices), among those of the model that the request was not sent to before.
//  3. A worker that refused, was unreachable or broke a response is skipped for a time that doubles
//     with each failure, until it answers. Where all are skipped, the one whose time ends first is
//     chosen: a request is never refused for what somebody else's request has met.
//
// Pure: time and random numbers are arguments. No thread rule.
// Source: Mitzenmacher, 'The Power of Two Choices in Randomized Load Balancing'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lastcall::router {

using Time = std::chrono::milliseconds;

/// What a source says of one worker.
struct Announced {
  std::string url;    // "http://10.0.0.7:8000"
  std::string model;  // empty: any
  friend bool operator==(Announced const&, Announced const&) = default;
};

class Worker {
 public:
  Worker(std::uint64_t id, Announced announced) : id_(id), announced_(std::move(announced)) {}

  std::uint64_t id() const { return id_; }  // never used again
  std::string const& url() const { return announced_.url; }
  std::string const& model() const { return announced_.model; }
  bool serves(std::string_view model) const { return model_is_any() || announced_.model == model; }
  bool model_is_any() const { return announced_.model.empty(); }
  std::size_t in_flight() const { return in_flight_; }
  bool has_left() const { return has_left_; }
  Time skipped_until() const { return skipped_until_; }

 private:
  friend class Fleet;

  std::uint64_t const id_;
  Announced announced_;
  std::size_t in_flight_ = 0;
  std::uint32_t failures_ = 0;  // in a row
  Time skipped_until_{};
  bool has_left_ = false;
};

class Fleet {
 public:
  using Draw = std::function<std::uint64_t()>;
  struct Skips {
    Time first{1'000};
    Time most{30'000};
  };
  struct News {
    std::vector<std::shared_ptr<Worker>> came;
    std::vector<std::shared_ptr<Worker>> left;
  };

  Fleet(Skips skips, Draw draw) : skips_(skips), draw_(std::move(draw)) {}

  /// All workers that `source` names from now on.
  News set(std::size_t source, std::vector<Announced> const& workers);

  /// Nothing where there is none that the request was not sent to (`tried`: their ids).
  std::shared_ptr<Worker> choose(std::string_view model, std::span<std::uint64_t const> tried,
                                 Time now) const;
  void began(Worker& worker) { ++worker.in_flight_; }
  void ended(Worker& worker) { --worker.in_flight_; }
  void failed(Worker& worker, Time now);
  void answered(Worker& worker);

  bool knows(std::string_view model) const;
  /// A worker has named it.
  bool announces(std::string_view model) const;
  /// Each once, in order; those that serve any name none.
  std::vector<std::string> models() const;
  std::vector<std::shared_ptr<Worker>> const& workers() const { return workers_; }

 private:
  Skips const skips_;
  Draw const draw_;
  std::map<std::size_t, std::vector<Announced>> sources_;
  std::vector<std::shared_ptr<Worker>> workers_;
  std::uint64_t last_id_ = 0;
};

}  // namespace lastcall::router
