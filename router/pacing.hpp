// Limits how much of a failed worker's work another worker gets at a time.
//
// Rules:
//  1. For answers that continue, or are handed over early, a worker computes prompts of at most
//     `most` tokens at a time, or one larger prompt: 256 streams of 4000 tokens at once would stall
//     its other work.
//  2. Requests that may have killed an engine are sent one at a time, so that the next worker that
//     dies shows which request it was; if engines of a pool die one after the other, only one such
//     request at a time goes to the whole pool (room.hpp).
//  3. Any other request always has room. A place is returned with the first event of the leg, or
//     when the leg is over; of an answer in one piece, when the worker has survived the request
//     (leg.hpp).
//
// Pure, one thread. Source: docs/router.md, 'How failures are contained'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lastcall::router {

/// The work that a leg causes at its worker: why it is sent there, and how much it is.
struct LegWork {
  enum class Kind : std::uint8_t { usual, continues, suspect, hands_over };
  Kind kind = Kind::usual;
  std::uint64_t tokens = 0;  // approximate size of its prompt
};

class Pacing {
 public:
  /// `freed` is called when room becomes free.
  Pacing(std::uint64_t most, std::function<void()> freed) : most_(most), freed_(std::move(freed)) {}

  /// The ids of the workers that have no room for this work.
  std::vector<std::uint64_t> full(LegWork const& work) const;
  /// Whether any worker has a request that may have killed an engine.
  bool has_suspect() const;

  class Place {
   public:
    Place() = default;
    Place(Place const&) = delete;
    Place& operator=(Place const&) = delete;
    ~Place() { give_back(); }
    void take(Pacing& pacing, std::uint64_t worker, LegWork const& work);
    void give_back();
    /// The same, of work that did not reach its worker: those that wait have no reason to try now.
    void withdraw();

   private:
    Pacing* pacing_ = nullptr;
    std::uint64_t worker_ = 0;
    LegWork work_;
  };

 private:
  struct Taken {
    std::uint64_t tokens = 0;
    unsigned continuing = 0;
    unsigned suspects = 0;
  };

  std::uint64_t const most_;
  std::function<void()> const freed_;
  std::unordered_map<std::uint64_t, Taken> workers_;  // only those that hold something
};

}  // namespace lastcall::router
