// A plain HTTP URL taken apart.
//
// Invariants: host without brackets, port never 0, path begins with `/` and holds the query.
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

/// The reason why it is not one, or empty.
std::string parse_http_url(std::string const& text, HttpUrl& out);

}  // namespace lastcall::probes
