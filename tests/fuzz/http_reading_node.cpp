// http_parser, which Node.js read HTTP with for ten years; many servers still do.
#include <limits>

#include <http_parser.h>

#include "tests/fuzz/http_reading.hpp"

namespace lastcall::fuzz {
namespace {

struct Current {
  Message message;
  bool is_complete = false;
};

Current& current(http_parser* parser) {
  return *static_cast<Current*>(parser->data);
}

int on_url(http_parser* parser, char const* at, std::size_t size) {
  current(parser).message.start.append(at, size);
  return 0;
}

int on_body(http_parser* parser, char const* at, std::size_t size) {
  current(parser).message.body.append(at, size);
  return 0;
}

int on_complete(http_parser* parser) {
  current(parser).is_complete = true;
  http_parser_pause(parser, 1);
  return 0;
}

http_parser_settings make_settings() {
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_url = on_url;
  settings.on_body = on_body;
  settings.on_message_complete = on_complete;
  return settings;
}

std::string start_of(http_parser const& parser, std::string const& url) {
  if (parser.type == HTTP_RESPONSE) {
    return std::to_string(unsigned{parser.status_code});
  }
  return std::string(http_method_str(static_cast<http_method>(parser.method))) + " " + url;
}

}  // namespace

Reading read_http_parser(std::string_view stream, Side side) {
  static http_parser_settings const settings = make_settings();
  http_parser_set_max_header_size(std::numeric_limits<std::uint32_t>::max());
  Reading reading;
  std::size_t at = 0;
  while (at < stream.size() && reading.stopped == Stopped::at_end) {
    http_parser parser;
    http_parser_init(&parser, side == Side::requests ? HTTP_REQUEST : HTTP_RESPONSE);
    Current now;
    parser.data = &now;
    std::size_t const used =
        http_parser_execute(&parser, &settings, stream.data() + at, stream.size() - at);
    auto fault = static_cast<http_errno>(parser.http_errno);
    if (!now.is_complete && fault == HPE_OK) {
      http_parser_execute(&parser, &settings, "", 0);  // the connection's end may be the body's
    }
    if (now.is_complete) {
      at += used;
      now.message.end = at;
      now.message.start = start_of(parser, now.message.start);
      reading.messages.push_back(std::move(now.message));
      reading.stopped = parser.upgrade != 0 ? Stopped::tunnel : Stopped::at_end;
    } else if (fault == HPE_OK) {
      reading.stopped = Stopped::incomplete;
    } else {
      reading.stopped = Stopped::refused;
      reading.why = http_errno_name(fault);
    }
  }
  return reading;
}

}  // namespace lastcall::fuzz
