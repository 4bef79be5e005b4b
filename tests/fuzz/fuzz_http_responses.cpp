// Responses on one connection of an engine, as ours and two other parsers read them: where each
// ends, its status and body are the same for all, or the difference is one that
// http_differences.cpp lists.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/http_reading.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const stream(data, data + size);
  lastcall::fuzz::compare_readings(stream, lastcall::fuzz::Side::responses);
  return 0;
}
