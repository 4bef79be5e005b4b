// Writes the heads that travel on: to the engine and back to the client.
//
// Rules:
//  1. Fields keep their order, case and duplicates; left out is what belongs to one connection
//     (Connection and what it lists, Keep-Alive, TE, Trailer, Transfer-Encoding, Upgrade, ...).
//  2. What frames the body or names the request is written by us: no Connection field can take a
//     Content-* or a Host away, nor a key, a cookie, or what a proxy before us said of the client
//     (Forwarded, X-Forwarded-*, X-Real-IP).
//  3. X-Forwarded-For gets the client's address appended; X-Forwarded-Host and -Proto are set where
//     they are missing; Forwarded gets an element of its own. X-Request-Id is there exactly once.
//
// Pure, no thread rule. Source: RFC 9110, sections 7.6.1 and 7.8; RFC 7239.
#pragma once

#include <string>
#include <string_view>

#include "ingress/http_head.hpp"

namespace lastcall::ingress {

struct Forwarding {
  std::string_view request_id;
  std::string_view client;  // its address as text, IPv6 without brackets; empty: unknown
  std::string_view scheme = "http";
  bool upgrade = false;
  Framing body;
};

/// Appends the head of the request to the engine.
void write_request_head(std::string& out, RequestHead const& head, Destination const& destination,
                        Forwarding const& facts);

struct Returning {
  std::string_view request_id;  // empty: none is written
  bool chunked = false;         // as it goes to the client
  bool close = false;
  bool keep_alive = false;  // an HTTP/1.0 client asked for it
  bool upgrade = false;
};

/// Appends the head of the response to the client.
void write_response_head(std::string& out, ResponseHead const& head, Returning const& facts);

}  // namespace lastcall::ingress
