#include "relay/chunk_decoder.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lastcall::relay {
namespace {

using State = ChunkDecoder::State;

struct Decoded {
  std::string payload;
  State state = State::more;
  std::size_t consumed = 0;
};

Decoded decode(std::string const& bytes, std::size_t step) {
  ChunkDecoder decoder;
  Decoded decoded;
  while (decoded.consumed < bytes.size() && decoded.state == State::more) {
    std::string part = bytes.substr(decoded.consumed, step);
    auto const result = decoder.decode(part);
    decoded.payload.append(part, 0, result.payload);
    decoded.consumed += result.consumed;
    decoded.state = result.state;
  }
  return decoded;
}

TEST(ChunkDecoder, Gives_the_payload_and_stops_at_its_end_however_the_bytes_arrive) {
  std::string const body = "5\r\nhello\r\n1;a=b\r\n \r\n0a \r\n0123456789\r\n0\r\nX: y\r\n\r\n";
  for (std::size_t step = 1; step < body.size() + 5; ++step) {
    Decoded const decoded = decode(body + "next", step);
    EXPECT_EQ(decoded.payload, "hello 0123456789") << step;
    EXPECT_EQ(decoded.state, State::done) << step;
    EXPECT_EQ(decoded.consumed, body.size()) << step;
  }
}

TEST(ChunkDecoder, Bad_sizes_and_line_ends_are_refused) {
  for (std::string const bytes :
       {"\r\n", " 5\r\nhello", "+5\r\nhello", "0x5\r\nhello", "g\r\n", ";a\r\n", "5\nhello",
        "5\r\nhelloX\r\n", "5\r\nhello\n", "5\rX", "1000000000000000\r\n", "0\r\n X: y\r\n\r\n",
        "0\r\nX: y\n\r\n", "0\r\n\rX", "-1\r\n",
        // What follows an end without its empty line is the next request, not a trailer.
        "0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "0\r\nno-colon\r\n\r\n",
        "0\r\nspace : x\r\n\r\n"}) {
    EXPECT_EQ(decode(bytes, 1).state, State::bad) << bytes;
    EXPECT_EQ(decode(bytes, bytes.size()).state, State::bad) << bytes;
  }
}

TEST(ChunkDecoder, Extensions_and_trailers_have_a_bound) {
  std::string const longest(ChunkDecoder::kMaxLine + 1, 'x');
  EXPECT_EQ(decode("1;" + longest + "\r\n", 4096).state, State::bad);
  EXPECT_EQ(decode("0\r\nX: " + longest + "\r\n\r\n", 4096).state, State::bad);
}

}  // namespace
}  // namespace lastcall::relay
