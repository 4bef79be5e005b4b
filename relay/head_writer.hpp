// Writes the heads that are passed on: to the engine and back to the client.
//
// Rules:
//  1. Fields keep their order, case and duplicates; fields that belong to one connection are left
//     out (Connection and what it lists, Keep-Alive, TE, Trailer, Transfer-Encoding, Upgrade, ...).
//  2. Fields that frame the body or name the request are replaced. No Connection field can
//     remove a Content-* field, Host, a key, a cookie, or a proxy's fields about the client
//     (Forwarded, X-Forwarded-*, X-Real-IP).
//  3. A trusted proxy's fields about its client are kept: X-Forwarded-For gets the proxy's address
//     appended; X-Forwarded-Host and -Proto are set where they are missing; Forwarded gets an
//     element of its own. From any other client none of these fields is passed on (Forwarded,
//     X-Forwarded-*, X-Real-IP, and the same names with underscores for dashes, which many servers
//     read as the same); they are replaced.
//  4. Fields of a request whose names have an underscore are left out, unless configured otherwise.
//  5. X-Request-Id is there exactly once.
//
// Pure, no thread rule. Source: RFC 9110, sections 7.6.1 and 7.8; RFC 7239.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "relay/http_head.hpp"

namespace lastcall::relay {

/// The client as the engine sees it.
struct Sender {
  std::string_view host;    // that it asked for; empty if it named none
  std::string_view client;  // its address as text, IPv6 without brackets; empty if unknown
  std::string_view scheme = "http";
};

struct Forwarding {
  std::string_view request_id;
  std::uint64_t way = 0;    // the engine returns it to prove that it was relayed here; 0: none
  std::string_view client;  // its address as text, IPv6 without brackets; empty if unknown
  std::string_view scheme = "http";
  bool is_proxy = false;           // whether its fields about its own client are trusted
  bool keeps_underscores = false;  // whether fields with an underscore in their names are kept
  bool upgrade = false;
  Framing body;
  bool omits_sender = false;  // append_sender() is called later
};

/// Appends the head of the request to the engine.
void write_request_head(std::string& out, RequestHead const& head, Destination const& destination,
                        Forwarding const& facts);

/// Appends the fields that describe the client of a request, if that is no proxy.
void append_sender(std::string& out, Sender const& sender);

struct Returning {
  std::string_view request_id;  // if empty, none is written
  bool chunked = false;         // whether the body goes to the client in chunks
  bool close = false;
  bool keep_alive = false;  // whether an HTTP/1.0 client requested it
  bool upgrade = false;
};

/// Appends the head of the response to the client.
void write_response_head(std::string& out, ResponseHead const& head, Returning const& facts);

}  // namespace lastcall::relay
