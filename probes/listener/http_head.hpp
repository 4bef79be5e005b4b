// Finds the end of a request head in the bytes of a connection, before they are parsed.
//
// Pure functions, no thread rule. Source: RFC 9112, 2.1 and 2.2.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ascii.hpp"
#include "base/parse_number.hpp"

namespace lastcall::probes {

/// The longest request head: request line and headers.
inline constexpr std::size_t kMaxHead = 8 * 1024;

/// The answer to a longer one.
inline constexpr std::string_view kHeadTooLarge =
    "HTTP/1.1 431 Request Header Fields Too Large\r\n"
    "Connection: close\r\nContent-Length: 23\r\nContent-Type: text/plain\r\n\r\n"
    "request head too large\n";

/// Where the head ends; 0 while its end has not arrived. Bare line feeds end it, too, so that a
/// client that sends them gets its 400 at once.
constexpr std::size_t find_head_end(std::string_view input) {
  auto const strict = input.find("\r\n\r\n");
  auto const loose = input.find("\n\n");
  if (strict == loose) {
    return 0;  // neither
  }
  return strict < loose ? strict + 4 : loose + 2;
}

/// The answer to a body whose length the head does not give.
inline constexpr std::string_view kLengthRequired =
    "HTTP/1.1 411 Length Required\r\n"
    "Connection: close\r\nContent-Length: 38\r\nContent-Type: application/json\r\n\r\n"
    "{\"error\":\"expected a Content-Length\"}\n";

/// The answer to a body that is too long.
inline constexpr std::string_view kBodyTooLarge =
    "HTTP/1.1 413 Content Too Large\r\n"
    "Connection: close\r\nContent-Length: 37\r\nContent-Type: application/json\r\n\r\n"
    "{\"error\":\"the request is too large\"}\n";

constexpr bool is_header(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         ascii::same(line.substr(0, name.size()), name);
}

/// The length of the body that the head announces; SIZE_MAX if it announces a body without a
/// length.
inline std::size_t body_length(std::string_view head) {
  constexpr std::string_view kLength = "content-length";
  std::size_t length = 0;
  while (!head.empty()) {
    std::size_t const end = head.find('\n');
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    if (is_header(line, "transfer-encoding")) {
      return SIZE_MAX;
    }
    if (is_header(line, kLength)) {
      line.remove_prefix(kLength.size() + 1);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
      auto const announced = parse_number<std::size_t>(line);
      if (!announced) {
        return SIZE_MAX;
      }
      length = *announced;
    }
  }
  return length;
}

/// Whether the client may still be sending: then a close would destroy the answer by a reset.
constexpr bool may_have_body(std::string_view input, std::size_t head_size) {
  return input.size() > head_size || !(input.starts_with("GET ") || input.starts_with("HEAD "));
}

}  // namespace lastcall::probes
