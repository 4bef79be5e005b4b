// Decodes the chunks of a body in place.
//
// Rules:
//  1. The bytes that decode() leaves at the front are payload and nothing else: sizes, extensions
//     and trailers are dropped.
//  2. Any split of the input gives the same payload.
//  3. Only strict framing passes: hex digits without sign or space before them, CRLF, at most
//     kMaxSizeDigits digits, kMaxLine bytes of extension or trailer in all; a trailer line has a
//     name and a colon, so that the first line of a request after an incomplete end does not pass
//     as one.
//
// Pure, no thread rule. Source: RFC 9112, section 7.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lastcall::relay {

class ChunkDecoder {
 public:
  enum class State : std::uint8_t { more, done, bad };
  struct Step {
    State state = State::more;
    std::size_t consumed = 0;  // number of bytes used; the rest belongs to the next message
    std::size_t payload = 0;   // length of the payload, now at the front of the bytes
  };
  static constexpr std::uint32_t kMaxSizeDigits = 15;
  static constexpr std::uint32_t kMaxLine = 8192;

  Step decode(std::span<char> bytes);
  void reset() { *this = ChunkDecoder(); }

 private:
  enum class At : std::uint8_t {
    size_first,  // at least one digit must follow
    size,
    extension,
    size_newline,
    data,
    data_return,
    data_newline,
    trailer_first,  // at the start of a trailer line
    trailer_name,
    trailer,
    trailer_newline,
    last_newline,
    done,
    bad,
  };

  At next(char c);
  At after_size_digit(int digit);
  At counted(At at);

  std::uint64_t left_ = 0;  // length of the rest of the chunk, or the size that is being read
  std::uint32_t line_ = 0;
  At at_ = At::size_first;
};

}  // namespace lastcall::relay
