// Requests that begin alike go to one worker, whose prefix cache then holds their common start.
//
// Rules:
//  1. The key is a hash of what the prompt begins with, or of a header's value. All replicas make
//     the same one, whatever machine they run on.
//  2. Each key puts the workers in an order of its own (key_ring.hpp): when one of them leaves,
//     only its own keys move, and they spread over all others; they return when it does.
//  3. A worker takes a key only while it has less than its share of all requests, times
//     kMostOfAShare; the excess goes to the next in the key's order (bounded load).
//
// Pure, no thread rule. Source: Mirrokni, Thorup and Zadimoghaddam, 'Consistent Hashing with
// Bounded Loads'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lastcall::router {

/// A share is what each worker would have if all had the same.
inline constexpr std::uint64_t kMostOfAShareNumerator = 5;
inline constexpr std::uint64_t kMostOfAShareDenominator = 4;

/// The most requests that one of `workers` may have, where there are `requests` with the new one.
constexpr std::uint64_t bounded_load(std::uint64_t requests, std::uint64_t workers) {
  std::uint64_t const below = kMostOfAShareDenominator * workers;
  return (kMostOfAShareNumerator * requests + below - 1) / below;
}

/// FNV-1a.
std::uint64_t stable_hash(std::string_view bytes);

/// The first `most` bytes of the prompt, as the JSON body has them: of `messages`, with `system`
/// before them, `prompt`, `text`, `input` or `input_ids`. Nothing where the body has none of them.
std::optional<std::uint64_t> prefix_key(std::string_view body, std::size_t most);

}  // namespace lastcall::router
