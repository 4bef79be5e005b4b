// How much of the work that a failed worker leaves another one gets at a time.
//
// Rules:
//  1. For answers that go on, or are handed over early, a worker computes prompts of at most `most`
//     tokens at a time, one of any size among them: 256 streams of 4000 tokens at once would stall
//     what it does already.
//  2. Requests that an engine may have died of go one at a time: the next worker that dies then
//     shows which it was; where engines of a pool die one after the other, one in all (room.hpp).
//  3. Any other request has room always. A place is given back with the first event of the leg, or
//     when it is over.
//
// Pure, one thread. Source: docs/router.md, 'What may not spread'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lastcall::router {

struct Load {
  enum class Kind : std::uint8_t { usual, goes_on, suspect, hands_over };
  Kind kind = Kind::usual;
  std::uint64_t tokens = 0;  // of its prompt, about
};

class Pacing {
 public:
  /// `freed` is called when room is made.
  Pacing(std::uint64_t most, std::function<void()> freed) : most_(most), freed_(std::move(freed)) {}

  /// Ids of the workers that have no room for it.
  std::vector<std::uint64_t> full(Load const& load) const;
  /// A worker has a request that an engine may have died of.
  bool has_suspect() const;

  class Place {
   public:
    Place() = default;
    Place(Place const&) = delete;
    Place& operator=(Place const&) = delete;
    ~Place() { give_back(); }
    void take(Pacing& pacing, std::uint64_t worker, Load const& load);
    void give_back();

   private:
    Pacing* pacing_ = nullptr;
    std::uint64_t worker_ = 0;
    Load load_;
  };

 private:
  struct Taken {
    std::uint64_t tokens = 0;
    unsigned going_on = 0;
    unsigned suspects = 0;
  };

  std::uint64_t const most_;
  std::function<void()> const freed_;
  std::unordered_map<std::uint64_t, Taken> workers_;  // those with something
};

}  // namespace lastcall::router
