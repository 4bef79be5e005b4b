// The pause before a process that ended is started again: 0.1 s, doubling to 5 s, and from the
// beginning again once a life has lasted 10 s. Pure values.
#pragma once

#include <algorithm>

#include "base/instant.hpp"

namespace lastcall::shim {

/// A life of this length starts the pauses from the beginning.
inline constexpr Duration kLivedWell{10'000};

/// The pause after this one; none comes before the first.
constexpr Duration longer_pause(Duration pause) {
  constexpr Duration kFirst{100};
  constexpr Duration kLongest{5'000};
  return pause == Duration{} ? kFirst : std::min(pause * 2, kLongest);
}

}  // namespace lastcall::shim
