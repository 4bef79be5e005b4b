#include "relay/request_reader.hpp"

#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

/// No client offers a longer list of protocols, and a list is read element by element.
constexpr std::size_t kLongestUpgrade = 256;

bool keeps_alive(RequestHead const& head) {
  return head.version == Version::http11 ? !head.connection.has("close")
                                         : head.connection.has("keep-alive");
}

/// An offer of HTTP/2 may be ignored, and it is: lastcall could not count the requests in such a
/// connection, and RFC 9113, 3.1 has deprecated the mechanism.
bool is_upgrade(RequestHead const& head) {
  std::string_view protocol;
  return head.version == Version::http11 && head.fields.count("upgrade", protocol) == 1 &&
         protocol.size() <= kLongestUpgrade && head.connection.has("upgrade") &&
         !head.fields.lists("upgrade", "h2c");
}

bool is_idempotent(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "PUT" ||
         method == "DELETE";
}

HeadFault check(TakenHead& taken, RequestReader::Limits const& limits) {
  if (HeadFault const fault = request_framing(taken.head, taken.framing)) {
    return fault;
  }
  if (HeadFault const fault = find_destination(taken.head, taken.destination)) {
    return fault;
  }
  bool expects = false;
  for (Field const& field : taken.head.fields) {
    if (!http_text::same(field.name, "expect")) {
      continue;
    }
    if (!http_text::same(field.value, "100-continue")) {
      return {417, "the expectation is not supported: expected 100-continue"};
    }
    expects = true;
  }
  if (limits.body && taken.framing.length > *limits.body) {
    return {413, "the body is too large"};
  }
  RequestHead const& head = taken.head;
  taken.asked = {.version = head.version,
                 .is_head = head.method == "HEAD",
                 .keeps_alive = keeps_alive(head),
                 .is_upgrade = taken.framing.kind == Framing::Kind::none && is_upgrade(head),
                 .is_idempotent = is_idempotent(head.method),
                 .expects_continue = expects && head.version == Version::http11};
  return {};
}

}  // namespace

RequestReader::Found RequestReader::read(std::string_view bytes, Limits const& limits,
                                         TakenHead& taken) {
  taken.forget();
  switch (scanner_.scan(bytes)) {
    case HeadScanner::Found::bad:
      taken.fault = {
          400,
          "the head is malformed: expected the lines of an HTTP/1.1 message, each ended by CRLF"};
      return Found::refused;
    case HeadScanner::Found::incomplete:
      if (bytes.size() <= limits.head) {
        return Found::incomplete;
      }
      taken.fault = scanner_.length() == 0 ? HeadFault{414, "the target is too long"}
                                           : HeadFault{431, "the head is too large"};
      return Found::refused;
    case HeadScanner::Found::complete:
      break;
  }
  taken.length = scanner_.length();
  scanner_.reset();
  if (taken.length > limits.head) {
    taken.fault = {431, "the head is too large"};
    return Found::refused;
  }
  taken.fault = parse_request_head(bytes.substr(0, taken.length), taken.head);
  if (!taken.fault) {
    taken.fault = check(taken, limits);
  }
  taken.asked.is_head = taken.head.method == "HEAD";
  return taken.fault ? Found::refused : Found::complete;
}

}  // namespace lastcall::relay
