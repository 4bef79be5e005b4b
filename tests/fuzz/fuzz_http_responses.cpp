// Responses on one connection of an engine, as ours and two other parsers read them: where each
// ends, its status and body are the same for all, or the difference is one that
// http_differences.cpp lists. Our work grows with the bytes alone.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/http_reading.hpp"
#include "tests/fuzz/work.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const stream(data, data + size);
  {
    lastcall::fuzz::BoundedWork const work(size, {.a_byte = 75, .besides = 20'000});
    lastcall::fuzz::read_ours(stream, lastcall::fuzz::Side::responses);
  }
  lastcall::fuzz::compare_readings(stream, lastcall::fuzz::Side::responses);
  return 0;
}
