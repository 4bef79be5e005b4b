// What is known to be read differently, and why that is not a defect of ours. tests/fuzz/README.md
// has the same list in words; a test holds the two together.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "relay/http_text.hpp"
#include "tests/fuzz/http_reading.hpp"

namespace lastcall::fuzz {
namespace {

/// We refuse here what another parser accepts. After a refusal the connection ends, so nothing that
/// follows can be taken for a message.
constexpr std::string_view kStricter[] = {
    // stricter: head
    "the head is malformed: expected the lines of an HTTP/1.1 message, each ended by CRLF",
    "a header line begins with a space or a tab: expected each field on one line",
    "a header line has no colon: expected NAME: VALUE",
    "a header name is not a token: expected a name directly before the colon",
    "a header has a control character: expected visible characters, spaces and tabs",
    "there are too many header lines: expected at most 128",
    "Connection is too long: expected at most 32 elements of at most 64 bytes",
    "the version is not supported: expected HTTP/1.1 or HTTP/1.0",
    "the version is malformed: expected HTTP/1.1 or HTTP/1.0",
    "the request line is malformed: expected METHOD TARGET HTTP/1.1",
    "the method is malformed: expected a token of at most 32 characters",
    "the request target is malformed: expected a path, or a URL with http or https",
    "the target is too long",
    "the status line is malformed: expected HTTP/1.1 STATUS REASON",
    "the status is malformed: expected three digits, 100 or more",
    "the status line has a control character: expected visible characters",
    "the expectation is not supported: expected 100-continue",
    // stricter: host
    "Host is repeated: expected it once",
    "Host is missing: expected it once in HTTP/1.1",
    "CONNECT is not served here",
    "the request target has no host: expected a path, or http://HOST/PATH",
    "Host is malformed: expected HOST or HOST:PORT, of at most 261 bytes",
    // stricter: body
    "there are both Content-Length and Transfer-Encoding: expected one of them",
    "Content-Length or Transfer-Encoding is repeated: expected it once",
    "there is a Transfer-Encoding in HTTP/1.0: expected Content-Length, or HTTP/1.1",
    "the Transfer-Encoding is not supported: expected chunked",
    "Content-Length is malformed: expected a decimal number of at most 18 digits",
    "a chunk or a trailer is malformed: expected the chunked coding of RFC 9112, 7.1",
};

struct Seen {
  std::string_view rest;  // of the stream, from where the message begins
  Side side;
  Message const* ours;    // nothing: we stopped before it
  Message const* theirs;  // likewise
  Reading const& other;
  bool waits() const { return theirs == nullptr && other.stopped == Stopped::incomplete; }
  bool refuses(std::string_view why) const { return theirs == nullptr && other.why == why; }
};

/// Whether `is_it` holds for the text between any `lower_case` and the end of its line.
bool any_line(std::string_view bytes, std::string_view lower_case,
              bool (*is_it)(std::string_view)) {
  auto const is_same = [](char a, char b) { return relay::http_text::lower(a) == b; };
  while (true) {
    auto const found = std::ranges::search(bytes, lower_case, is_same);
    if (found.empty()) {
      return false;
    }
    bytes = std::string_view(found.end(), bytes.end());
    if (is_it(bytes.substr(0, bytes.find("\r\n")))) {
      return true;
    }
  }
}

/// That parser notes the field before it has seen the end of the name.
bool has_longer_name(std::string_view bytes, std::string_view lower_case) {
  return any_line(bytes, lower_case, [](std::string_view rest) {
    return !rest.empty() && relay::http_text::is(rest.front(), relay::http_text::kToken);
  });
}

bool has_tab(std::string_view bytes, std::string_view lower_case) {
  return any_line(bytes, lower_case,
                  [](std::string_view rest) { return rest.find('\t') != rest.npos; });
}

/// In these cases another parser stops or ends a message at another place, and ours is right.
struct Difference {
  std::string_view parser;
  std::string_view what;
  bool (*is_it)(Seen const&);
};

constexpr Difference kDifferences[] = {
    {"beast", "an empty line before a request",
     [](Seen const& s) { return s.refuses("bad method") && s.rest.starts_with("\r\n"); }},
    {"beast", "a chunk extension that is not of the grammar",
     [](Seen const& s) { return s.refuses("bad chunk extension"); }},
    {"beast", "a Connection list with what is no token",
     [](Seen const& s) { return s.refuses("bad value"); }},
    {"beast", "a trailer that looks like framing",
     [](Seen const& s) {
       return s.refuses("bad Content-Length") || s.refuses("bad Transfer-Encoding");
     }},
    {"beast", "a status line without a reason and its space",
     [](Seen const& s) { return s.refuses("bad status"); }},
    {"beast", "a quoted text that is not ended in a chunk extension",
     [](Seen const& s) { return s.waits() && s.rest.find('"') != s.rest.npos; }},
    {"http_parser", "a method that it does not know",
     [](Seen const& s) { return s.refuses("HPE_INVALID_METHOD"); }},
    {"http_parser", "a tab beside a Content-Length",
     [](Seen const& s) { return s.refuses("HPE_INVALID_CONTENT_LENGTH"); }},
    {"http_parser", "a tab beside a Transfer-Encoding",
     [](Seen const& s) { return has_tab(s.rest, "\r\ntransfer-encoding:"); }},
    {"http_parser", "a tab behind the size of a chunk",
     [](Seen const& s) { return s.refuses("HPE_INVALID_CHUNK_SIZE"); }},
    {"http_parser", "a trailer that looks like framing",
     [](Seen const& s) { return s.refuses("HPE_UNEXPECTED_CONTENT_LENGTH"); }},
    {"http_parser", "a name that begins with Transfer-Encoding and goes on",
     [](Seen const& s) { return has_longer_name(s.rest, "\r\ntransfer-encoding"); }},
    {"http_parser", "a body of an answer that has none",
     [](Seen const& s) {
       std::string_view const status = s.ours == nullptr ? "" : std::string_view(s.ours->start);
       return s.side == Side::responses &&
              (status.starts_with('1') || status == "204" || status == "304");
     }},
};

[[noreturn]] void differ(std::string_view who, std::string_view what, std::size_t message,
                         std::string_view why) {
  std::fprintf(stderr, "%.*s, message %zu: %.*s (%.*s)\n", static_cast<int>(who.size()), who.data(),
               message, static_cast<int>(what.size()), what.data(), static_cast<int>(why.size()),
               why.data());
  std::abort();
}

bool is_listed(std::string_view parser, Seen const& seen) {
  return std::ranges::any_of(kDifferences, [&](Difference const& each) {
    return each.parser == parser && each.is_it(seen);
  });
}

Message const* at(Reading const& reading, std::size_t i) {
  return i < reading.messages.size() ? &reading.messages[i] : nullptr;
}

bool is_stricter(Reading const& ours) {
  return ours.stopped == Stopped::refused &&
         std::ranges::find(kStricter, ours.why) != std::ranges::end(kStricter);
}

void compare(std::string_view stream, Side side, Reading const& ours, OtherParser const& parser) {
  Reading const other = parser.read(stream, side);
  std::size_t begin = 0;
  for (std::size_t i = 0;; ++i) {
    Message const* const our = at(ours, i);
    Message const* const their = at(other, i);
    if (our == nullptr && (their == nullptr || ours.stopped == Stopped::tunnel)) {
      return;
    }
    if (their == nullptr && other.stopped == Stopped::tunnel) {
      return;  // what follows is for it of another protocol
    }
    if (our != nullptr && their != nullptr && *our == *their) {
      begin = our->end;
      continue;
    }
    Seen const seen{stream.substr(begin), side, our, their, other};
    if ((our == nullptr && is_stricter(ours)) || is_listed(parser.name, seen)) {
      return;
    }
    if (our == nullptr) {
      differ(parser.name, "is taken, and not by us", i, ours.why);
    }
    differ(parser.name, their == nullptr ? "is not taken" : "is read differently", i, other.why);
  }
}

}  // namespace

void compare_readings(std::string_view stream, Side side) {
  Reading const ours = read_ours(stream, side);
  for (OtherParser const& parser : kOtherParsers) {
    compare(stream, side, ours, parser);
  }
}

void compare_written(std::string_view stream, Side side, std::vector<std::string> const& bodies) {
  for (OtherParser const& parser : kOtherParsers) {
    Reading const other = parser.read(stream, side);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (i == other.messages.size()) {
        if (other.stopped == Stopped::refused || other.stopped == Stopped::tunnel) {
          break;  // stricter than we are: the connection ends there
        }
        differ(parser.name, "is waited for, and was written", i, {});
      }
      if (other.messages[i].body != bodies[i]) {
        differ(parser.name, "has another body than was written", i, {});
      }
    }
    if (other.messages.size() > bodies.size() ||
        (other.messages.size() == bodies.size() && !bodies.empty() &&
         other.messages.back().end != stream.size())) {
      differ(parser.name, "is more than was written", bodies.size(), {});
    }
  }
}

}  // namespace lastcall::fuzz
