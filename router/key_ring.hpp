// Finds the order of workers for each key without examining all of them.
//
// Theory of operation. Each worker has kPoints points on a circle of 2^64 places, and each key has
// kProbes. The distance between a key and a worker is the shortest way clockwise from a point of
// the key to a point of the worker; the key's order is the order of these distances. The first
// worker is found with one lookup for each point of the key, and the next ones by advancing from
// there.
//
// Rules:
//  1. The order of two workers for a key depends only on the key and these two workers. So when a
//     worker leaves, only its own keys move, and they spread over all others; they return when it
//     returns.
//  2. The fraction of keys for which a given worker is first has a standard deviation of a
//     twentieth of the mean.
//
// Values only, no thread rule. Source: Appleton and O'Reilly, 'Multi-probe consistent hashing'.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lastcall::router {

class KeyRing {
 public:
  static constexpr std::size_t kPoints = 16;
  static constexpr std::size_t kProbes = 12;

  struct Member {
    std::size_t number = 0;   // the value that first() returns for it
    std::uint64_t place = 0;  // a hash of its name
  };
  explicit KeyRing(std::span<Member const> members);

  static std::uint64_t point_of(std::uint64_t place, std::size_t which);
  static std::uint64_t probe_of(std::uint64_t key, std::size_t which);

  /// The first member in the order of `key` that satisfies `takes`, a predicate of its number.
  /// Absent if none does. `takes` may be called more than once for a number that it rejects.
  template <typename Takes>
  std::optional<std::size_t> first(std::uint64_t key, Takes const& takes) const {
    Cursors cursors = cursors_of(key);
    for (std::size_t left = kProbes * points_.size(); left > 0; --left) {
      Cursor& nearest = nearest_of(cursors);
      std::size_t const number = points_[nearest.at].number;
      if (takes(number)) {
        return number;
      }
      go_on(nearest);
    }
    return std::nullopt;
  }

 private:
  struct Point {
    std::uint64_t at = 0;
    std::size_t number = 0;
  };
  /// The state of a search that began at a point of the key.
  struct Cursor {
    std::uint64_t probe = 0;
    std::uint64_t distance = 0;  // from the key's point
    std::size_t at = 0;          // index of the present point
    std::size_t left = 0;        // points that it has not visited
  };
  using Cursors = std::array<Cursor, kProbes>;

  Cursors cursors_of(std::uint64_t key) const;
  static Cursor& nearest_of(Cursors& cursors);
  void go_on(Cursor& cursor) const;
  std::size_t after(std::uint64_t place) const;

  std::vector<Point> points_;  // in ascending order
  /// For each value of a place's leading bits, the index of the first point there.
  std::vector<std::uint32_t> begins_;
  unsigned shift_ = 0;
};

}  // namespace lastcall::router
