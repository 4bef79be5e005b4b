#include "relay/first_byte.hpp"

#include <string_view>

#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

bool has_event_stream_type(ResponseHead const& head) {
  std::string_view type;
  std::size_t const types = head.fields.count("content-type", type);
  std::string_view const media = http_text::trimmed(type.substr(0, type.find(';')));
  return types == 1 && http_text::same(media, "text/event-stream");
}

}  // namespace

bool is_event_stream(ResponseHead const& head) {
  std::string_view coding;
  bool const is_plain =
      head.fields.count("content-encoding", coding) == 0 || http_text::same(coding, "identity");
  return is_plain && has_event_stream_type(head);
}

bool begins_with_its_body(bool is_events, Framing const& framing, bool streaming) {
  bool const is_open_ended =
      framing.kind == Framing::Kind::chunked || framing.kind == Framing::Kind::until_close;
  return framing.kind != Framing::Kind::none && (is_events || (is_open_ended && streaming));
}

}  // namespace lastcall::relay
