// Streams of server-sent events, derived from their grammar: fields, comments, empty lines, three
// kinds of line ends, errors in several shapes. Checked against a reader of the standard that keeps
// everything:
//  1. the boundary, the number of events and the first suspect, however the bytes arrive;
//  2. a stream that is cut at the boundary, with an error event after it, is for a client exactly
//     the events before and then that error: nothing half, nothing twice.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "relay/engine_error.hpp"
#include "relay/event_scanner.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;
using fuzz::require;
using relay::EventScanner;

constexpr std::string_view kLines[] = {
    "",
    "",
    "",
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}",
    "data: [DONE]",
    "data:",
    "data",
    "data: {\"error\":{\"code\":500,\"message\":\"dead\"}}",
    "data:{ \"error\" : {\"code\":\"x\",\"type\":\"invalid_request_error\"}}",
    "data: {\"errors\":0}",
    "data: {\"object\":\"error\",\"code\":400}",
    "data: {\"a\":1,\"error\":{}}",
    "event: error",
    "event:error",
    "event: \t error",
    "event: errors",
    "event: message",
    "event",
    "id: 7",
    "retry: 10",
    ": keep-alive",
    ":",
    " data: a space first",
    "\xef\xbb\xbf"
    "data: a mark first",
    "Data: another case",
    "data:                              {\"error\":1}",
};
constexpr std::string_view kEnds[] = {"\n", "\n", "\r\n", "\r"};

std::string derive(fuzz::Choices& choose) {
  std::string stream;
  for (int lines = 0; lines < 200 && !choose.empty(); ++lines) {
    if (choose.one_in(16)) {
      stream += static_cast<char>(choose.byte());
    }
    stream += choose.of(kLines);
    stream += choose.of(kEnds);
  }
  return stream;
}

struct Line {
  std::string_view text;
  std::size_t first_end = 0;  // after its end, or between the halves of that
  std::size_t end = 0;        // after all of its end
};

/// Complete lines only.
std::vector<Line> lines_of(std::string_view stream) {
  std::vector<Line> lines;
  std::size_t begin = 0;
  for (std::size_t at = stream.find_first_of("\r\n"); at != stream.npos;
       at = stream.find_first_of("\r\n", begin)) {
    std::size_t const end = stream.substr(at, 2) == "\r\n" ? at + 2 : at + 1;
    lines.push_back({stream.substr(begin, at - begin), at + 1, end});
    begin = end;
  }
  return lines;
}

bool names_error(std::string_view line) {
  constexpr std::size_t kSeen = 32;  // of a line
  line = line.substr(0, kSeen);
  auto const skip = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  };
  if (line.starts_with("event:")) {
    return skip(line.substr(6)) == "error";
  }
  if (!line.starts_with("data:")) {
    return false;
  }
  std::string_view const value = skip(line.substr(5));
  return value.starts_with('{') && skip(value.substr(1)).starts_with("\"error\"");
}

struct Known {
  std::size_t boundary = 0;
  std::uint64_t events = 0;
  std::size_t suspect = 0;  // where the first one ends: a return may be all that has come
  friend bool operator==(Known const&, Known const&) = default;
};

Known reference(std::string_view stream) {
  Known known;
  bool has_begun = false;
  bool is_suspect = false;
  for (Line const& line : lines_of(stream)) {
    if (line.text.empty()) {
      known.events += has_begun ? 1 : 0;
      if (is_suspect && known.suspect == 0) {
        known.suspect = line.first_end;
      }
      has_begun = is_suspect = false;
    } else if (line.text.front() != ':') {
      has_begun = true;
      is_suspect = is_suspect || names_error(line.text);
    }
    known.boundary = has_begun ? known.boundary : line.end;
  }
  return known;
}

/// `steps`: the lengths of the pieces in which the bytes arrive, over and over.
Known scan(std::string_view stream, std::vector<std::size_t> const& steps) {
  fuzz::BoundedWork const work(stream.size(), {.a_byte = 200, .besides = 20'000});
  EventScanner scanner;
  Known known;
  std::size_t turn = 0;
  for (std::size_t at = 0; at < stream.size();) {
    std::string_view const part = stream.substr(at, steps[turn++ % steps.size()]);
    auto const [boundary, event] = scanner.scan(part);
    known.boundary = boundary > 0 ? at + boundary : known.boundary;
    if (event && known.suspect == 0) {
      known.suspect = at + event->end;
      std::ignore = relay::error_of_event(part.substr(event->begin, event->end - event->begin));
    }
    at += part.size();
  }
  known.events = scanner.events();
  return known;
}

using Event = std::pair<std::string, std::string>;  // its name and its data

/// The events that a client dispatches. Source: the HTML standard, 9.2.6.
std::vector<Event> dispatched(std::string_view stream) {
  std::vector<Event> events;
  Event event;
  bool has_data = false;
  stream.remove_prefix(stream.starts_with("\xef\xbb\xbf") ? 3 : 0);
  for (Line const& line : lines_of(stream)) {
    if (line.text.empty()) {
      if (has_data) {
        events.push_back(event);
      }
      event = {};
      has_data = false;
      continue;
    }
    std::size_t const colon = line.text.find(':');
    std::string_view const name = line.text.substr(0, colon);
    std::string_view value = colon == line.text.npos ? "" : line.text.substr(colon + 1);
    value.remove_prefix(value.starts_with(' ') ? 1 : 0);
    if (name == "event") {
      event.first = value;
    } else if (name == "data") {
      event.second.append(has_data ? "\n" : "").append(value);
      has_data = true;
    }
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::Choices choose(data, size);
  std::vector<std::size_t> steps;
  for (std::size_t i = choose.below(4) + 1; i > 0; --i) {
    steps.push_back(choose.below(64) + 1);
  }
  std::string const stream = derive(choose);
  Known const known = reference(stream);
  require(scan(stream, {stream.size() + 1}) == known, "differs as a whole", stream);
  require(scan(stream, {1}) == known, "differs byte by byte", stream);
  require(scan(stream, steps) == known, "differs in pieces", stream);

  std::string const before = stream.substr(0, known.boundary);
  std::vector<Event> expected = dispatched(before);
  expected.emplace_back("error", "{}");
  require(dispatched(before + "event: error\ndata: {}\n\n") == expected, "is cut within an event",
          stream);
  return 0;
}
