// Limits how often an answer is continued, and which requests may be.
//
// Rules:
//  1. A request may move kMostPlanned times because of planned events, and once because an engine
//     died, because a request that kills its engine must not go through the fleet.
//  2. A request that was in flight at an engine's death is suspect for kSuspected, and so is every
//     equal request (hash_of_request). A second death makes it poison if it followed the first,
//     that is, if the request at the second engine was sent after the first death had become known.
//     If several engines with equal requests die together, each of these requests has seen only one
//     death. A completed answer clears the suspicion.
//  3. Reports of one engine's end within kOneDeath count as one death, whatever their source.
//  4. If a pool has two deaths within kManyWithin, its suspects are sent one at a time to the whole
//     pool, so that a third death identifies the cause.
//  5. Moves because of stalls, and repeats, take from a budget: a fifth of the number of requests,
//     plus a few more, so that a slow fleet does not receive everything twice.
//
// Pure: time is an argument. No thread rule. Source: docs/continuation.md, 'Limits'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "router/continuation/refused.hpp"

namespace lastcall::router::continuation {

using Time = std::chrono::milliseconds;

/// Why a leg is replaced.
enum class Cause : std::uint8_t {
  planned,       // `migrated`, an early hand-off, a worker that left its registry
  engine_death,  // `engine_dead`, an error, a connection that broke
  stall,
  unproven,  // the leg did not continue the answer: its worker cannot, but is alive
};

/// `reason` is the reason in Received.
Cause cause_of(std::string_view reason);

/// The limit on the moves of one request.
class MoveLimit {
 public:
  static constexpr unsigned kMostPlanned = 3;
  static constexpr unsigned kMostDeaths = 1;
  static constexpr unsigned kMostUnproven = 2;

  /// Counts the move, or returns a word if it is not allowed.
  Refused take(Cause cause);
  /// Whether the move is allowed; moves because of stalls also need the budget.
  bool has(Cause cause) const { return MoveLimit(*this).take(cause) == Refused::no; }
  bool is_without_deaths() const { return deaths_ == 0; }

 private:
  std::uint8_t planned_ = 0;
  std::uint8_t deaths_ = 0;
  std::uint8_t unproven_ = 0;
};

/// The contents of a request by which it is identified.
struct Asking {
  std::string_view line;  // method and target, which may name the model and state what is requested
  std::string_view model;  // the model of its pool
  std::string_view body;
};
/// FNV-1a, which is enough to distinguish requests that are not forged.
std::uint64_t hash_of_request(Asking const& asking);

/// Deaths are numbered from 1 in the order in which they become known.
using DeathNumber = std::uint32_t;

/// Requests that were in flight when an engine died, by their hashes.
class Suspects {
 public:
  static constexpr Time kSuspected = std::chrono::minutes(10);

  explicit Suspects(std::size_t most = 4096) : most_(most) {}

  enum class Verdict : std::uint8_t {
    unknown,
    suspect,  // it is sent after all others, one at a time per worker
    poison,   // it is answered with 502 and not sent again
  };
  struct Death {
    DeathNumber number = 0;
    DeathNumber known = 0;  // last death known when the request was sent to the engine that died
  };
  void note_death(std::uint64_t request, Death death, Time now);
  void clear(std::uint64_t request);
  Verdict verdict(std::uint64_t request, Time now);
  std::size_t size() const { return by_age_.size(); }

 private:
  struct Entry {
    std::uint64_t request = 0;
    DeathNumber first = 0;
    bool has_second = false;  // a second death that followed the first
    Time last{};
  };
  void forget_old(Time now);

  std::size_t const most_;
  std::list<Entry> by_age_;  // the oldest first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> entries_;
};

/// The recent deaths of engines in each pool.
class RecentDeaths {
 public:
  static constexpr Time kOneDeath = std::chrono::seconds(5);  // no engine restarts faster
  static constexpr Time kManyWithin = std::chrono::minutes(1);

  /// Records a death in `pool`, the model that its workers serve. Returns the number of the death,
  /// which may have been reported before.
  DeathNumber note(std::string_view pool, std::uint64_t worker, Time now);
  /// The last death that is known; 0 if there is none.
  DeathNumber last() const { return last_number_; }
  bool are_many(std::string_view pool, Time now) const;

 private:
  struct Death {
    std::string pool;
    std::uint64_t worker = 0;
    DeathNumber number = 0;
    Time at{};
  };
  std::vector<Death> deaths_;  // one per pool, none older than kManyWithin
  DeathNumber last_number_ = 0;
};

/// The budget of all requests together for sending something a second time.
class RetryBudget {
 public:
  static constexpr unsigned kPercent = 20;
  static constexpr unsigned kAtRest = 100;  // retries that an idle router has
  static constexpr unsigned kMost = 1000;   // most retries that can be saved up

  void note_request();
  bool take();

 private:
  unsigned hundredths_ = kAtRest * 100;
};

}  // namespace lastcall::router::continuation
