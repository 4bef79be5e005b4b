// What comes after a head: chunks, events, and the look at a JSON body. Checked:
//  1. each gives the same answer however the bytes arrive;
//  2. the payload of chunks is not longer than they are, and what follows them is left alone;
//  3. a boundary of events lies within what was scanned, and so does one that may report an error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "relay/body_look.hpp"
#include "relay/chunk_decoder.hpp"
#include "relay/engine_error.hpp"
#include "relay/event_scanner.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::relay;
using lastcall::fuzz::require;

auto decode(std::string_view bytes, std::size_t step) {
  ChunkDecoder decoder;
  std::string payload;
  std::size_t at = 0;
  auto state = ChunkDecoder::State::more;
  while (at < bytes.size() && state == ChunkDecoder::State::more) {
    std::string part(bytes.substr(at, step));
    auto const result = decoder.decode(part);
    require(result.payload <= result.consumed && result.consumed <= part.size());
    payload.append(part, 0, result.payload);
    at += result.consumed;
    state = result.state;
  }
  return std::tuple(payload, at, state);
}

auto scan(std::string_view bytes, std::size_t step) {
  EventScanner scanner;
  std::size_t boundary = 0;
  std::size_t suspect = 0;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    std::string_view const part = bytes.substr(at, step);
    auto const [last, event] = scanner.scan(part);
    require(last <= part.size());
    if (event) {
      require(event->begin < event->end && event->end <= last);
      std::ignore = error_of_event(part.substr(event->begin, event->end - event->begin));
      suspect = suspect == 0 ? at + event->end : suspect;
    }
    boundary = last > 0 ? at + last : boundary;
  }
  return std::tuple(boundary, scanner.events(), suspect);
}

auto look(std::string_view bytes, std::size_t step) {
  BodyLook look;
  for (std::size_t at = 0; at < bytes.size() && !look.is_done(); at += step) {
    look.feed(bytes.substr(at, step));
  }
  require(look.model().size() <= BodyLook::kMaxModel);
  return std::tuple(look.model(), look.stream());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 500, .besides = 20'000});
  std::string const bytes(data, data + size);
  std::size_t const whole = bytes.size() + 1;
  auto const [payload, used, state] = decode(bytes, whole);
  auto const [payload_1, used_1, state_1] = decode(bytes, 1);
  require(payload == payload_1 && state == state_1);
  require(state != ChunkDecoder::State::done || used == used_1);
  require(scan(bytes, whole) == scan(bytes, 1) && scan(bytes, whole) == scan(bytes, 5));
  require(look(bytes, whole) == look(bytes, 1) && look(bytes, whole) == look(bytes, 7));
  return 0;
}
