#include "probes/listener/http_exchange.hpp"

#include <algorithm>
#include <exception>

#include "relay/endpoint_name.hpp"
#include "relay/http_head.hpp"
#include "relay/http_text.hpp"
#include "relay/status_phrase.hpp"

namespace lastcall::probes {

namespace {

/// Whether the value fits on one line; other values are not sent.
bool is_one_line(std::string_view value) {
  return relay::http_text::all(value, relay::http_text::kValue);
}

std::string reply_bytes(Reply const& reply, bool has_body) {
  auto const status = static_cast<unsigned>(reply.status);
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out.append(relay::phrase_of(status)).append("\r\nConnection: close\r\nContent-Length: ");
  out.append(std::to_string(reply.body.size())).append("\r\nContent-Type: ");
  out.append(reply.content_type).append("\r\n");
  for (auto const& [name, value] : reply.headers) {
    if (is_one_line(value)) {
      out.append(name).append(": ").append(value).append("\r\n");
    }
  }
  out.append("\r\n");
  return has_body ? out.append(reply.body) : out;
}

relay::HeadFault parse(std::string_view bytes, relay::RequestHead& head) {
  relay::HeadScanner scanner;
  if (scanner.scan(bytes) != relay::HeadScanner::Found::complete) {
    return {400, "the request is not HTTP/1.1 as this listener supports it"};
  }
  if (relay::HeadFault const fault = relay::parse_request_head(bytes, head)) {
    return fault;
  }
  if (!head.target.starts_with('/')) {
    return {400, "a malformed request target, expected a path"};
  }
  relay::Framing framing;
  return relay::request_framing(head, framing);
}

Request to_request(relay::RequestHead const& head) {
  std::size_t const question = std::min(head.target.find('?'), head.target.size());
  Request request{.method = std::string(head.method),
                  .path = relay::unescaped(head.target.substr(0, question))};
  std::string_view query = head.target.substr(question);
  while (!query.empty()) {
    query.remove_prefix(1);  // the ? or the &
    std::string_view const one = query.substr(0, query.find('&'));
    query.remove_prefix(one.size());
    std::size_t const equals = std::min(one.find('='), one.size());
    if (!one.empty()) {
      request.query.emplace_back(relay::unescaped(one.substr(0, equals)),
                                 relay::unescaped(one.substr(std::min(equals + 1, one.size()))));
    }
  }
  for (relay::Field const& field : head.fields) {
    request.headers.emplace_back(field.name, field.value);
  }
  return request;
}

}  // namespace

std::string answer_head(std::string_view bytes, HeadHandler const& handler) {
  relay::RequestHead head;
  if (relay::HeadFault const fault = parse(bytes, head)) {
    return reply_bytes({.status = static_cast<int>(fault.status),
                        .body = "cannot read the request: " + std::string(fault.what) + "\n"},
                       head.method != "HEAD");
  }
  std::optional<Reply> reply;
  try {
    reply = handler(to_request(head));
  } catch (std::exception const&) {
    reply = Reply{.status = 500, .body = "internal error\n"};
  }
  return reply ? reply_bytes(*reply, head.method != "HEAD") : std::string();
}

}  // namespace lastcall::probes
