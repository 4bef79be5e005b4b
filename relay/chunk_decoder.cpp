#include "relay/chunk_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "relay/http_text.hpp"

namespace lastcall::relay {

namespace {

/// The line with the size of a chunk.
struct SizeLine {
  std::size_t length = 0;  // with its line end; 0 if it is not whole, or has more than the size
  std::uint64_t size = 0;
};

/// Reads a usual one at once: every event has one, and the machine takes several times as long.
SizeLine size_line(std::string_view bytes) {
  SizeLine line;
  std::size_t digits = 0;
  while (digits < bytes.size() && digits < ChunkDecoder::kMaxSizeDigits) {
    int const digit = http_text::hex_digit(bytes[digits]);
    if (digit < 0) {
      break;
    }
    line.size = line.size * 16 + static_cast<std::uint64_t>(digit);
    ++digits;
  }
  bool const is_whole = digits > 0 && bytes.substr(digits).starts_with("\r\n");
  line.length = is_whole ? digits + 2 : 0;
  return line;
}

}  // namespace

ChunkDecoder::Step ChunkDecoder::decode(std::span<char> bytes) {
  Step step;
  while (step.consumed < bytes.size() && at_ != At::done && at_ != At::bad) {
    if (at_ == At::size_first) {
      std::string_view const rest(bytes.data() + step.consumed, bytes.size() - step.consumed);
      SizeLine const line = size_line(rest);
      if (line.length > 0 && line.size > 0) {  // otherwise trailers follow
        step.consumed += line.length;
        left_ = line.size;
        line_ = 0;
        at_ = At::data;
        continue;
      }
    }
    if (at_ != At::data) {
      at_ = next(bytes[step.consumed++]);
      continue;
    }
    std::size_t const size =
        static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - step.consumed));
    std::memmove(bytes.data() + step.payload, bytes.data() + step.consumed, size);
    step.payload += size;
    step.consumed += size;
    left_ -= size;
    at_ = left_ == 0 ? At::data_return : At::data;
  }
  if (at_ == At::done || at_ == At::bad) {
    step.state = at_ == At::done ? State::done : State::bad;
  }
  return step;
}

ChunkDecoder::At ChunkDecoder::next(char c) {
  switch (at_) {
    case At::size_first:
      left_ = 0;
      line_ = 0;
      return after_size_digit(http_text::hex_digit(c));
    case At::size:
      if (int const digit = http_text::hex_digit(c); digit >= 0) {
        return after_size_digit(digit);
      }
      if (c == '\r') {
        return At::size_newline;
      }
      return c == ';' || c == ' ' || c == '\t' ? counted(At::extension) : At::bad;
    case At::extension:
      if (c == '\r') {
        return At::size_newline;
      }
      return http_text::is(c, http_text::kValue) ? counted(At::extension) : At::bad;
    case At::size_newline:
      line_ = 0;
      if (c != '\n') {
        return At::bad;
      }
      return left_ == 0 ? At::trailer_first : At::data;
    case At::data_return:
      return c == '\r' ? At::data_newline : At::bad;
    case At::data_newline:
      return c == '\n' ? At::size_first : At::bad;
    case At::trailer_first:
      if (c == '\r') {
        return At::last_newline;
      }
      return http_text::is(c, http_text::kToken) ? counted(At::trailer_name) : At::bad;
    case At::trailer_name:
      if (c == ':') {
        return counted(At::trailer);
      }
      return http_text::is(c, http_text::kToken) ? counted(At::trailer_name) : At::bad;
    case At::trailer:
      if (c == '\r') {
        return At::trailer_newline;
      }
      return http_text::is(c, http_text::kValue) ? counted(At::trailer) : At::bad;
    case At::trailer_newline:
      return c == '\n' ? At::trailer_first : At::bad;
    case At::last_newline:
      return c == '\n' ? At::done : At::bad;
    case At::data:
    case At::done:
    case At::bad:
      return at_;
  }
  return At::bad;
}

ChunkDecoder::At ChunkDecoder::after_size_digit(int digit) {
  if (digit < 0 || ++line_ > kMaxSizeDigits) {
    return At::bad;
  }
  left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
  return At::size;
}

ChunkDecoder::At ChunkDecoder::counted(At at) {
  return ++line_ > kMaxLine ? At::bad : at;
}

}  // namespace lastcall::relay
