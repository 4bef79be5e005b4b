#include "relay/http_head.hpp"

#include <algorithm>

#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

using namespace http_text;

constexpr std::size_t kMaxMethod = 32;
constexpr std::string_view kNewline = "\r\n";

/// Removes the next line from `rest`, and returns it without its CRLF. HeadScanner has checked the
/// CRLFs.
std::string_view take_line(std::string_view& rest) {
  std::size_t const end = rest.find(kNewline);
  std::string_view const line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kNewline.size());
  return line;
}

HeadFault parse_fields(std::string_view rest, Fields& fields, ConnectionOptions& connection) {
  fields.clear();
  connection.clear();
  while (true) {
    std::string_view const line = take_line(rest);
    if (line.empty()) {
      connection.sort();
      return {};
    }
    if (line.front() == ' ' || line.front() == '\t') {
      return {400, "a header line begins with a space or a tab: expected each field on one line"};
    }
    std::size_t const colon = line.find(':');
    if (colon == std::string_view::npos) {
      return {400, "a header line has no colon: expected NAME: VALUE"};
    }
    std::string_view const name = line.substr(0, colon);
    if (name.empty() || !all(name, kToken)) {
      return {400, "a header name is not a token: expected a name directly before the colon"};
    }
    std::string_view const value = trimmed(line.substr(colon + 1));
    if (!all(value, kValue)) {
      return {400,
              "a header has a control character: expected visible characters, spaces and tabs"};
    }
    if (!fields.add({name, value})) {
      return {431, "there are too many header lines: expected at most 128"};
    }
    if (same(name, "connection") && !connection.add(value)) {
      return {400, "Connection is too long: expected at most 32 elements of at most 64 bytes"};
    }
  }
}

HeadFault parse_version(std::string_view text, Version& version) {
  if (text == "HTTP/1.1") {
    version = Version::http11;
  } else if (text == "HTTP/1.0") {
    version = Version::http10;
  } else if (text.size() == 8 && text.starts_with("HTTP/") && text[6] == '.') {
    return {505, "the version is not supported: expected HTTP/1.1 or HTTP/1.0"};
  } else {
    return {400, "the version is malformed: expected HTTP/1.1 or HTTP/1.0"};
  }
  return {};
}

/// Reads the only Content-Length, and a Transfer-Encoding that may only be chunked. Without either,
/// the framing stays as it is.
HeadFault read_framing(Fields const& fields, Version version, Framing& framing) {
  std::string_view coding;
  std::string_view digits;
  std::size_t const codings = fields.count("transfer-encoding", coding);
  std::size_t const lengths = fields.count("content-length", digits);
  if (codings > 0 && lengths > 0) {
    return {400, "there are both Content-Length and Transfer-Encoding: expected one of them"};
  }
  if (codings > 1 || lengths > 1) {
    return {400, "Content-Length or Transfer-Encoding is repeated: expected it once"};
  }
  if (codings == 1) {
    if (version == Version::http10) {
      return {400,
              "there is a Transfer-Encoding in HTTP/1.0: expected Content-Length, or HTTP/1.1"};
    }
    if (!same(coding, "chunked")) {
      return {501, "the Transfer-Encoding is not supported: expected chunked"};
    }
    framing = {Framing::Kind::chunked, 0};
  }
  if (lengths == 1) {
    auto const number = parse_number(digits);
    if (!number) {
      return {400, "Content-Length is malformed: expected a decimal number of at most 18 digits"};
    }
    framing = *number > 0 ? Framing{Framing::Kind::length, *number} : Framing{};
  }
  return {};
}

}  // namespace

std::size_t Fields::count(std::string_view name, std::string_view& first) const {
  std::size_t found = 0;
  for (Field const& field : *this) {
    if (same(field.name, name)) {
      if (found++ == 0) {
        first = field.value;
      }
    }
  }
  return found;
}

bool Fields::lists(std::string_view name, std::string_view word) const {
  for (Field const& field : *this) {
    if (same(field.name, name) && list_has(field.value, word)) {
      return true;
    }
  }
  return false;
}

HeadScanner::Found HeadScanner::scan(std::string_view bytes) {
  // Bytes that do not begin like a head (TLS, binary noise) never become one, so nothing is
  // awaited.
  if (line_ == 0 && !bytes.empty() && bytes.front() != '\r' && !is(bytes.front(), kToken)) {
    return Found::bad;
  }
  while (line_ < bytes.size()) {
    std::string_view const rest = bytes.substr(seen_);
    std::size_t const newline = rest.find('\n');
    std::size_t const carriage = rest.substr(0, newline).find('\r');
    bool const is_last = carriage + 1 == std::min(newline, rest.size());  // npos + 1 is 0
    if (carriage != std::string_view::npos && !is_last) {
      return Found::bad;  // a CR that does not end a line
    }
    if (newline == std::string_view::npos) {
      seen_ += std::min(carriage, rest.size());
      return Found::incomplete;
    }
    if (carriage == std::string_view::npos) {
      return Found::bad;
    }
    bool const is_first = line_ == 0;
    bool const is_empty = seen_ + newline == line_ + 1;
    line_ = seen_ += newline + 1;
    if (is_empty && !is_first && bytes.substr(0, line_) != "\r\n\r\n") {
      return Found::complete;
    }
    if (line_ == 4 && is_empty) {
      return Found::bad;  // two empty lines and no head
    }
  }
  return Found::incomplete;
}

HeadFault parse_request_head(std::string_view bytes, RequestHead& head) {
  std::string_view line = take_line(bytes);
  if (line.empty()) {  // RFC 9112, 2.2: one empty line before a request is accepted
    line = take_line(bytes);
  }
  std::size_t const first = line.find(' ');
  std::size_t const last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return {400, "the request line is malformed: expected METHOD TARGET HTTP/1.1"};
  }
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  if (head.method.empty() || head.method.size() > kMaxMethod || !all(head.method, kToken)) {
    return {400, "the method is malformed: expected a token of at most 32 characters"};
  }
  if (head.target.size() > kMaxTarget) {
    return {414, "the target is too long"};
  }
  if (head.target.empty() || !all(head.target, kTarget)) {
    return {400, "the request target is malformed: expected a path, or a URL with http or https"};
  }
  if (HeadFault const fault = parse_version(line.substr(last + 1), head.version)) {
    return fault;
  }
  return parse_fields(bytes, head.fields, head.connection);
}

HeadFault parse_response_head(std::string_view bytes, ResponseHead& head) {
  std::string_view const line = take_line(bytes);
  constexpr std::size_t kCodeAt = 9;
  if (line.size() < kCodeAt + 3 || line[kCodeAt - 1] != ' ' ||
      (line.size() > kCodeAt + 3 && line[kCodeAt + 3] != ' ')) {
    return {400, "the status line is malformed: expected HTTP/1.1 STATUS REASON"};
  }
  if (HeadFault const fault = parse_version(line.substr(0, kCodeAt - 1), head.version)) {
    return fault;
  }
  auto const status = parse_number(line.substr(kCodeAt, 3));
  if (!status || *status < 100 || *status > 999) {
    return {400, "the status is malformed: expected three digits, 100 or more"};
  }
  head.status = static_cast<unsigned>(*status);
  head.reason = line.size() > kCodeAt + 4 ? line.substr(kCodeAt + 4) : std::string_view();
  if (!all(head.reason, kValue)) {
    return {400, "the status line has a control character: expected visible characters"};
  }
  return parse_fields(bytes, head.fields, head.connection);
}

HeadFault request_framing(RequestHead const& head, Framing& framing) {
  framing = {};
  return read_framing(head.fields, head.version, framing);
}

HeadFault response_framing(ResponseHead const& head, std::string_view method, Framing& framing) {
  framing = {Framing::Kind::until_close, 0};
  HeadFault const fault = read_framing(head.fields, head.version, framing);
  bool const has_no_body =
      method == "HEAD" || head.status < 200 || head.status == 204 || head.status == 304;
  if (fault || has_no_body) {
    framing = {};
  }
  return fault;
}

HeadFault find_destination(RequestHead const& head, Destination& destination) {
  std::string_view host;
  std::size_t const hosts = head.fields.count("host", host);
  if (hosts > 1) {
    return {400, "Host is repeated: expected it once"};
  }
  if (hosts == 0 && head.version == Version::http11) {
    return {400, "Host is missing: expected it once in HTTP/1.1"};
  }
  destination = {host, head.target};
  if (head.method == "CONNECT") {
    return {405, "CONNECT is not served here"};
  }
  if (head.target.front() != '/') {
    std::size_t const scheme = head.target.find("://");
    bool const is_http =
        scheme != std::string_view::npos && (same(head.target.substr(0, scheme), "http") ||
                                             same(head.target.substr(0, scheme), "https"));
    if (is_http) {
      std::string_view const rest = head.target.substr(scheme + 3);
      // Two searches: a search for either character looks at every byte twice.
      std::size_t const path = std::min(rest.find('/'), rest.find('?'));
      destination.host = rest.substr(0, path);
      destination.target = path == std::string_view::npos ? "" : rest.substr(path);
      if (destination.target.empty() && head.method == "OPTIONS") {
        destination.target = "*";  // RFC 9112, 3.2.4
      }
      if (destination.host.empty()) {
        return {400, "the request target has no host: expected a path, or http://HOST/PATH"};
      }
    } else if (head.target != "*" || head.method != "OPTIONS") {
      return {400, "the request target is malformed: expected a path, or a URL with http or https"};
    }
  }
  if (destination.host.size() > kMaxHost || !all(destination.host, kHost)) {
    return {400, "Host is malformed: expected HOST or HOST:PORT, of at most 261 bytes"};
  }
  return {};
}

}  // namespace lastcall::relay
