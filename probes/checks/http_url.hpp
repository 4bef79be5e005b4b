// A plain HTTP URL taken apart.
//
// Invariants: the host has no brackets, the port is never 0, the path begins with `/` and includes
// the query.
//
// Pure, no thread rule. Source: RFC 3986, RFC 9112 3.2.
#pragma once

#include <string>

#include "probes/checks/connect_attempt.hpp"

namespace lastcall::probes {

struct HttpUrl {
  Target target;
  std::string host_header;
  std::string path = "/";
};

/// Returns why `text` is not such a URL; empty if it is.
std::string parse_http_url(std::string const& text, HttpUrl& out);

}  // namespace lastcall::probes
