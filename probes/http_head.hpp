// Where a request head ends, as far as the bytes of a connection tell before they are parsed.
//
// Pure functions, no thread rule. Source: RFC 9112, 2.1 and 2.2.
#pragma once

#include <cstddef>
#include <string_view>

namespace lastcall::probes {

/// Longest request head: request line and headers.
inline constexpr std::size_t kMaxHead = 8 * 1024;

/// The answer to a longer one.
inline constexpr std::string_view kHeadTooLarge =
    "HTTP/1.1 431 Request Header Fields Too Large\r\n"
    "Connection: close\r\nContent-Length: 23\r\nContent-Type: text/plain\r\n\r\n"
    "request head too large\n";

/// Where the head ends; 0 while it has not. Bare line feeds end it too, so that a client that is
/// wrong about them gets its 400 at once.
constexpr std::size_t find_head_end(std::string_view input) {
  auto const strict = input.find("\r\n\r\n");
  auto const loose = input.find("\n\n");
  if (strict == loose) {
    return 0;  // neither
  }
  return strict < loose ? strict + 4 : loose + 2;
}

/// Whether the client may still be sending: then a close would reset what was answered.
constexpr bool may_have_body(std::string_view input, std::size_t head_size) {
  return input.size() > head_size || !(input.starts_with("GET ") || input.starts_with("HEAD "));
}

}  // namespace lastcall::probes
