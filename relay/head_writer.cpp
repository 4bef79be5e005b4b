#include "relay/head_writer.hpp"

#include <array>
#include <charconv>
#include <cstddef>

#include "relay/http_text.hpp"

namespace lastcall::relay {
namespace {

using http_text::same;

bool is_of_one_connection(std::string_view name) {
  switch (name.size()) {
    case 2:
      return same(name, "te");
    case 7:
      return same(name, "trailer") || same(name, "upgrade");
    case 10:
      return same(name, "connection") || same(name, "keep-alive");
    case 14:
      return same(name, "x-lastcall-way");  // only lastcall may set it
    case 16:
      return same(name, "proxy-connection");
    case 17:
      return same(name, "transfer-encoding");
    case 19:
      return same(name, "proxy-authorization");
    default:
      return false;
  }
}

bool is_request_id(std::string_view name) {
  return name.size() == 12 && same(name, "x-request-id");
}

bool begins(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && same(name.substr(0, prefix.size()), prefix);
}

/// Fields that a Connection field may not remove: they describe the body, the target and the
/// sender, and the statements of the proxies before this one.
bool is_protected(std::string_view name) {
  return begins(name, "content-") || same(name, "host") || same(name, "authorization") ||
         same(name, "cookie") || same(name, "set-cookie") || same(name, "x-api-key") ||
         same(name, "forwarded") || begins(name, "x-forwarded-") || same(name, "x-real-ip") ||
         begins(name, "x-lastcall-");
}

bool travels_on(ConnectionOptions const& connection, std::string_view name) {
  if (is_of_one_connection(name) || is_request_id(name)) {
    return false;
  }
  return connection.empty() || !connection.has(name) || is_protected(name);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

/// Compares as a server does that reads underscores in names as dashes.
bool reads_as(std::string_view name, std::string_view other) {
  if (name.size() != other.size()) {
    return false;
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    char const c = name[i] == '_' ? '-' : http_text::lower(name[i]);
    if (c != other[i]) {
      return false;
    }
  }
  return true;
}

/// Fields that only a proxy before this one can know. Their first letter is tested first, because
/// few fields have it.
bool describes_client(std::string_view name) {
  constexpr std::string_view kPrefix = "x-forwarded-";
  switch (name.front()) {
    case 'f':
    case 'F':
      return reads_as(name, "forwarded");
    case 'x':
    case 'X':
      return reads_as(name.substr(0, kPrefix.size()), kPrefix) || reads_as(name, "x-real-ip");
    default:
      return false;
  }
}

/// Fields by which a client speaks to lastcall, or parts of lastcall to each other. A call's root,
/// its caller and its channel are meant for the engine's SDK.
bool is_between_us(std::string_view name) {
  constexpr std::string_view kPrefix = "x-lastcall-";
  if (name.size() <= kPrefix.size() || http_text::lower(name.front()) != 'x' ||
      !reads_as(name.substr(0, kPrefix.size()), kPrefix)) {
    return false;
  }
  std::string_view const what = name.substr(kPrefix.size());
  return !reads_as(what, "root") && !reads_as(what, "parent") && !reads_as(what, "channel");
}

/// Whether a field of the request is passed on to the engine unchanged.
bool reaches_engine(std::string_view name, RequestHead const& head, Forwarding const& facts) {
  if (same(name, "host") || same(name, "expect")) {
    return false;
  }
  if (is_between_us(name)) {
    return false;
  }
  if (!facts.keeps_underscores && name.find('_') != std::string_view::npos) {
    return false;
  }
  bool const is_written_anew = facts.is_proxy
                                   ? same(name, "x-forwarded-for") && !facts.client.empty()
                                   : describes_client(name);
  return !is_written_anew && travels_on(head.connection, name);
}

void append_forwarded(std::string& out, Sender const& sender) {
  bool const is_v6 = sender.client.find(':') != std::string_view::npos;
  out.append("Forwarded: for=");
  if (sender.client.empty()) {
    out.append("unknown");
  } else {
    out.append(is_v6 ? "\"[" : "").append(sender.client).append(is_v6 ? "]\"" : "");
  }
  if (!sender.host.empty()) {
    out.append(";host=\"").append(sender.host).append("\"");
  }
  out.append(";proto=").append(sender.scheme).append("\r\n");
}

void append_forwarding(std::string& out, RequestHead const& head, Destination const& destination,
                       Forwarding const& facts) {
  Sender const sender{.host = destination.host, .client = facts.client, .scheme = facts.scheme};
  if (!facts.is_proxy) {
    append_sender(out, sender);
    return;
  }
  if (!facts.client.empty()) {
    out.append("X-Forwarded-For: ");
    for (Field const& field : head.fields) {
      if (same(field.name, "x-forwarded-for") && !field.value.empty()) {
        out.append(field.value).append(", ");
      }
    }
    out.append(facts.client).append("\r\n");
  }
  std::string_view first;
  auto const is_present = [&](std::string_view name) { return head.fields.count(name, first) > 0; };
  if (!destination.host.empty() && !is_present("x-forwarded-host")) {
    append_field(out, "X-Forwarded-Host", destination.host);
  }
  if (!is_present("x-forwarded-proto")) {
    append_field(out, "X-Forwarded-Proto", facts.scheme);
  }
  append_forwarded(out, sender);
}

/// The most bytes that are written for the engine: the head grows only by the client's fields.
std::size_t most_bytes(RequestHead const& head, Destination const& destination,
                       Forwarding const& facts) {
  constexpr std::size_t kNamesOfOurs = 256;
  constexpr std::size_t kAroundField = std::string_view(": \r\n").size();
  std::size_t bytes = head.method.size() + destination.target.size() + kNamesOfOurs +
                      3 * destination.host.size() + 2 * facts.client.size() +
                      facts.request_id.size();
  for (Field const& field : head.fields) {
    bytes += field.name.size() + field.value.size() + kAroundField;
  }
  return bytes;
}

}  // namespace

void append_sender(std::string& out, Sender const& sender) {
  if (!sender.client.empty()) {
    append_field(out, "X-Forwarded-For", sender.client);
  }
  if (!sender.host.empty()) {
    append_field(out, "X-Forwarded-Host", sender.host);
  }
  append_field(out, "X-Forwarded-Proto", sender.scheme);
  append_forwarded(out, sender);
}

void write_request_head(std::string& out, RequestHead const& head, Destination const& destination,
                        Forwarding const& facts) {
  out.reserve(out.size() + most_bytes(head, destination, facts));
  out.append(head.method).append(" ");
  if (destination.target.empty() || destination.target.front() == '?') {
    out.append("/");
  }
  out.append(destination.target).append(" HTTP/1.1\r\n");
  append_field(out, "Host", destination.host);
  for (Field const& field : head.fields) {
    if (reaches_engine(field.name, head, facts)) {
      append_field(out, field.name, field.value);
    }
  }
  if (facts.upgrade) {
    std::string_view protocol;
    head.fields.count("upgrade", protocol);
    append_field(out, "Connection", "upgrade");
    append_field(out, "Upgrade", protocol);
  }
  if (facts.body.kind == Framing::Kind::chunked) {
    append_field(out, "Transfer-Encoding", "chunked");
  }
  if (!facts.omits_sender) {
    append_forwarding(out, head, destination, facts);
  }
  append_field(out, "X-Request-Id", facts.request_id);
  if (facts.way != 0) {
    std::array<char, 16> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), facts.way, 16);
    append_field(out, "X-Lastcall-Way",
                 {digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
  }
  out.append("\r\n");
}

void write_response_head(std::string& out, ResponseHead const& head, Returning const& facts) {
  std::array<char, 8> digits{};
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), head.status);
  out.append("HTTP/1.1 ").append(digits.data(), end.ptr).append(" ").append(head.reason);
  out.append("\r\n");
  // Clients that believed a length here would wait for a body that cannot come: RFC 9110, 8.6.
  constexpr unsigned kNoContent = 204;
  bool const has_length = head.status >= 200 && head.status != kNoContent;
  for (Field const& field : head.fields) {
    if (travels_on(head.connection, field.name) &&
        (has_length || !same(field.name, "content-length"))) {
      append_field(out, field.name, field.value);
    }
  }
  if (!facts.request_id.empty()) {
    append_field(out, "X-Request-Id", facts.request_id);
  }
  std::string_view protocol;
  // This answer names the protocol to upgrade to: RFC 9110, 15.5.22.
  constexpr unsigned kUpgradeRequired = 426;
  bool const names_protocol = facts.upgrade || head.status == kUpgradeRequired;
  if (names_protocol && head.fields.count("upgrade", protocol) > 0) {
    append_field(out, "Connection", facts.close ? "upgrade, close" : "upgrade");
    append_field(out, "Upgrade", protocol);
  } else if (facts.close) {
    append_field(out, "Connection", "close");
  } else if (facts.keep_alive) {
    append_field(out, "Connection", "keep-alive");
  }
  if (facts.chunked) {
    append_field(out, "Transfer-Encoding", "chunked");
  }
  out.append("\r\n");
}

}  // namespace lastcall::relay
