#include "tests/fuzz/work.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

std::uint64_t steps = 0;

constexpr std::size_t kBytesAStep = 16;

/// libFuzzer takes each byte of this section that has become non-zero for something new.
constexpr std::size_t kHeights = 64;
[[gnu::section("__libfuzzer_extra_counters")]] std::uint8_t heights[kHeights];

}  // namespace

// The linker's --wrap sends calls here: those of the compiler's hook, which libFuzzer leaves empty,
// and those of functions that loop where the compiler cannot count.
extern "C" {

void __wrap___sanitizer_cov_trace_pc();
void __wrap___sanitizer_cov_trace_pc() {
  ++steps;
}

/// The function reads no further than to what it finds.
void* __real_memchr(void const* text, int wanted, std::size_t size);
void* __wrap_memchr(void const* text, int wanted, std::size_t size);
void* __wrap_memchr(void const* text, int wanted, std::size_t size) {
  void* const found = __real_memchr(text, wanted, size);
  auto const* const begin = static_cast<char const*>(text);
  std::size_t const seen =
      found == nullptr ? size : static_cast<std::size_t>(static_cast<char*>(found) - begin);
  steps += seen / kBytesAStep;
  return found;
}

#define LASTCALL_COUNTED(result, name, first, second)               \
  result __real_##name(first, second, std::size_t size);            \
  result __wrap_##name(first, second, std::size_t size);            \
  result __wrap_##name(first one, second other, std::size_t size) { \
    steps += size / kBytesAStep;                                    \
    return __real_##name(one, other, size);                         \
  }
LASTCALL_COUNTED(int, memcmp, void const*, void const*)
LASTCALL_COUNTED(void*, __asan_memcpy, void*, void const*)
LASTCALL_COUNTED(void*, __asan_memmove, void*, void const*)
#undef LASTCALL_COUNTED

}  // extern "C"

namespace lastcall::fuzz {

std::uint64_t steps_so_far() {
  return steps;
}

BoundedWork::BoundedWork(std::size_t bytes, MostWork most)
    : bytes_(bytes), most_(most), before_(steps) {}

BoundedWork::~BoundedWork() {
  std::uint64_t const taken = steps - before_;
  std::uint64_t const above = taken > most_.besides ? taken - most_.besides : 0;
  // Eight values lie below the limit and eight above it; more would only fill the corpus.
  std::uint64_t const height = above * 8 / (most_.a_byte * (bytes_ + 1));
  heights[height < kHeights ? height : kHeights - 1] = 1;
  bool const is_bearable = above <= most_.a_byte * bytes_;
  // With this variable the cost of each input of a corpus is printed, to choose a target's limits
  // by.
  if (!is_bearable || std::getenv("LASTCALL_FUZZ_WORK") != nullptr) {  // NOLINT(concurrency-*)
    std::fprintf(stderr, "%llu steps for %zu bytes, where %llu and %llu a byte are bearable\n",
                 static_cast<unsigned long long>(taken), bytes_,
                 static_cast<unsigned long long>(most_.besides),
                 static_cast<unsigned long long>(most_.a_byte));
  }
  if (!is_bearable) {
    std::abort();
  }
}

}  // namespace lastcall::fuzz
