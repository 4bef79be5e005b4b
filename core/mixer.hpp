// Mixes values into one number, in their order; machines compute their part of a fingerprint with
// it.
//
// An instant in the future counts by its distance from now; one that has passed counts as `due`,
// however long ago it was. Values only, no thread rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "core/instant.hpp"

namespace lastcall::lifecycle {

struct Mixer {
  Instant now;
  std::uint64_t hash = 0;

  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void put(T x) {
    hash += static_cast<std::uint64_t>(x) + 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebULL;
    hash ^= hash >> 31U;
  }
  void put(Duration d) { put(to_ms(d)); }
  void put(std::string_view text) {
    put(text.size());
    for (char const c : text) {
      put(c);
    }
  }
  /// Mixes an instant that is waited for; once it has passed, its value does not matter.
  void put(Instant at) { put(std::max(at - now, Duration{0})); }
  template <typename T>
  void put(std::optional<T> const& x) {
    put(x.has_value());
    if (x) {
      put(*x);
    }
  }
  template <typename... T>
  void all(T const&... x) {
    (put(x), ...);
  }
  /// Mixes how long ago `at` was, limited to `most`; `at` is absent if it never happened.
  void age(std::optional<Instant> at, Duration most) {
    put(at ? std::min(now - *at, most) : Duration{-1});
  }
};

}  // namespace lastcall::lifecycle
