// Requests with the same start go to one worker, whose prefix cache then holds that start.
//
// Rules:
//  1. The key is a hash of the prompt's start, or of a header's value. All replicas compute the
//     same key, whatever machine they run on.
//  2. Each key has its own order of workers (key_ring.hpp): when a worker leaves, only its keys
//     move, spread over all others, and they return when that worker returns.
//  3. A worker gets a key only while it has less than its share of all requests, times
//     MostOfAShare; the excess goes to the next worker in the key's order (bounded load).
//
// Pure, no thread rule. Source: Mirrokni, Thorup and Zadimoghaddam, 'Consistent Hashing with
// Bounded Loads'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ratio>
#include <string_view>

namespace lastcall::router {

/// A worker's share is the number of requests that it would have if all workers had the same
/// number.
using MostOfAShare = std::ratio<5, 4>;

/// The largest number of requests that one of `workers` may have if there are `requests`, including
/// the new one.
constexpr std::uint64_t bounded_load(std::uint64_t requests, std::uint64_t workers) {
  std::uint64_t const below = MostOfAShare::den * workers;
  return (MostOfAShare::num * requests + below - 1) / below;
}

/// Computes FNV-1a, which is the same on every machine.
std::uint64_t stable_hash(std::string_view bytes);

/// Hashes the first `most` bytes of the prompt as the JSON body contains it: of `messages` (with
/// `system` before them), `prompt`, `text`, `input` or `input_ids`. Absent if the body has none of
/// these members.
std::optional<std::uint64_t> prefix_key(std::string_view body, std::size_t most);

}  // namespace lastcall::router
