// Bounds what one input may cost: a fuzz target counts the steps of the code under test and ends
// the process where there are more than so many a byte. A cost that grows faster than its input is
// a defect as much as a crash is, and the fuzzer is led towards it: each new height of steps a byte
// counts as coverage.
//
// A step is an edge of the control flow (the compiler calls a hook on each), or 16 bytes that a
// function of the C library looked at or moved. No clock: the same input has the same number. Steps
// of other libraries are not counted, and nothing is counted in a build that is not for fuzzing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace lastcall::fuzz {

/// Ends the process where a property of the input does not hold.
inline void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}
/// The same, and prints `what` and the input.
inline void require(bool condition, std::string_view what, std::string_view input) {
  if (!condition) {
    std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
                 static_cast<int>(input.size()), input.data());
    std::abort();
  }
}

struct MostWork {
  std::uint64_t a_byte = 0;
  std::uint64_t besides = 0;  // what an empty input may cost
};

/// Steps of this process, to be compared with an earlier answer; 0 where nothing is counted.
std::uint64_t steps_so_far();

/// Counts from here to the end of the scope.
class BoundedWork {
 public:
  BoundedWork(std::size_t bytes, MostWork most);
  ~BoundedWork();
  BoundedWork(BoundedWork const&) = delete;
  BoundedWork& operator=(BoundedWork const&) = delete;

 private:
  [[maybe_unused]] std::size_t bytes_;
  [[maybe_unused]] MostWork most_;
  [[maybe_unused]] std::uint64_t before_ = 0;
};

#ifndef LASTCALL_COUNTS_WORK
inline std::uint64_t steps_so_far() {
  return 0;
}
inline BoundedWork::BoundedWork(std::size_t bytes, MostWork most) : bytes_(bytes), most_(most) {}
inline BoundedWork::~BoundedWork() = default;
#endif

}  // namespace lastcall::fuzz
