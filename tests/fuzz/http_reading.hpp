// Where the messages of a stream of bytes begin and end, as one of three parsers sees it: ours, and
// two that others wrote. What they see differently is how requests are smuggled.
//
// Rules:
//  1. Each message is read on its own, as the first one of a connection: what a message states
//     about the connection's end has no influence on where the next one begins.
//  2. Bodies are the payload alone: chunk sizes, extensions and trailers are not in them.
//  3. No parser needs more than the bytes that there are: a length shows what is missing, and
//     nothing is set aside for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::fuzz {

enum class Side : std::uint8_t { requests, responses };

struct Message {
  std::size_t end = 0;  // of the stream: here the next one begins
  std::string start;    // method and target, or the status
  std::string body;
  friend bool operator==(Message const&, Message const&) = default;
};

/// The reason why no further message was read.
enum class Stopped : std::uint8_t {
  at_end,      // the bytes ended where a message may begin
  incomplete,  // a message has begun and is not complete
  refused,     // no message, or one that this parser does not take
  tunnel,      // what follows is of another protocol
};

struct Reading {
  std::vector<Message> messages;
  Stopped stopped = Stopped::at_end;
  std::string why;  // of a refusal
};

Reading read_ours(std::string_view stream, Side side);
Reading read_beast(std::string_view stream, Side side);
Reading read_http_parser(std::string_view stream, Side side);

struct OtherParser {
  std::string_view name;
  Reading (*read)(std::string_view, Side);
};
inline constexpr std::array<OtherParser, 2> kOtherParsers{
    {{"beast", read_beast}, {"http_parser", read_http_parser}}};

/// Compares ours with the others' readings of the same bytes; a difference that
/// http_differences.cpp does not list ends the process.
void compare_readings(std::string_view stream, Side side);

/// Checks what would travel on: messages of ours, which each other parser must take for exactly
/// `bodies`.
void compare_written(std::string_view stream, Side side, std::vector<std::string> const& bodies);

}  // namespace lastcall::fuzz
