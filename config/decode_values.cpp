#include "config/decode_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "base/parse_number.hpp"
#include "base/utf8.hpp"

namespace lastcall::config {
namespace {

constexpr std::size_t kLongestQuote = 60;

/// Replaces the secrets of a URL or address, because printed values end up in logs: the user name
/// and password, and everything after a question mark or a hash, even if the rest is malformed. The
/// last @ ends a password that itself holds one, as its author meant it.
std::string without_secrets(std::string_view text) {
  std::size_t const scheme = text.find("://");
  std::size_t const begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  std::size_t const at = text.rfind('@');
  bool const has_user = at != std::string_view::npos && at >= begin &&
                        (begin > 0 || text.substr(0, at).find(':') != std::string_view::npos);
  std::string out(text.substr(0, begin));
  std::string_view rest = text.substr(begin);
  if (has_user) {
    out += "***";
    rest = text.substr(at);
  }
  std::size_t const query = rest.find_first_of("?#");
  out += rest.substr(0, query);
  return query == std::string_view::npos ? out : out + rest[query] + "***";
}

/// Complains unless the node is a scalar that may be a number or a boolean.
Complaint refuse_unless_plain(Node const& node) {
  if (node.kind != Node::Kind::scalar) {
    return describe(node);
  }
  if (node.style == Node::Style::quoted) {
    return quote(node.text) + " is quoted, which makes it a text";
  }
  return std::nullopt;
}

Complaint refuse_unless_scalar(Node const& node) {
  if (node.kind != Node::Kind::scalar) {
    return describe(node);
  }
  return std::nullopt;
}

Complaint read_whole(Node const& node, std::uint64_t ceiling, Key const& key, std::uint64_t& out) {
  if (Complaint complaint = refuse_unless_plain(node)) {
    return complaint;
  }
  std::string_view const text = node.text;
  std::string_view const digits = text.starts_with('-') ? text.substr(1) : text;
  bool const is_decimal = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
  if (!is_decimal) {
    return quote(text) + " is not a decimal whole number";
  }
  if (digits.size() > 1 && digits.front() == '0') {
    return quote(text) + " has a leading zero";
  }
  if (text != digits) {
    return quote(text) + " is negative";
  }
  std::uint64_t number = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool const is_inside = error == std::errc{} && number <= ceiling &&
                         (!key.range || (number >= static_cast<std::uint64_t>(key.range->minimum) &&
                                         number <= static_cast<std::uint64_t>(key.range->maximum)));
  if (!is_inside) {
    return quote(text) + " is out of range";
  }
  out = number;
  return std::nullopt;
}

}  // namespace

std::string quote(std::string_view given) {
  std::string const text = without_secrets(given);
  bool const is_long = text.size() > kLongestQuote;
  std::string out = "'";
  for (char const c : utf8::prefix(text, kLongestQuote)) {
    bool const is_control = static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
    out += is_control ? '?' : c;
  }
  return out + (is_long ? "...'" : "'");
}

std::string describe(Node const& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "no value";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a section";
    case Node::Kind::scalar:
      return quote(node.text);
    case Node::Kind::invalid:
      return "an invalid value";
  }
  return "";
}

Complaint read(Node const& node, Key const& /*key*/, bool& out) {
  if (Complaint complaint = refuse_unless_plain(node)) {
    return complaint;
  }
  if (node.text != "true" && node.text != "false") {
    return quote(node.text);
  }
  out = node.text == "true";
  return std::nullopt;
}

Complaint read(Node const& node, Key const& key, std::string& out) {
  if (Complaint complaint = refuse_unless_scalar(node)) {
    return complaint;
  }
  if (node.style == Node::Style::plain) {
    switch (plain_type(node.text)) {
      case PlainType::text:
      case PlainType::null:  // ~ and null do not arrive here as scalars; "" is a text
        break;
      case PlainType::boolean:
        return quote(node.text) + " is a boolean unless quoted";
      case PlainType::number:
        return quote(node.text) + " is a number unless quoted";
    }
  }
  if (key.form != nullptr && !key.form->accepts(node.text)) {
    return key.secret ? "what is there" : quote(node.text);
  }
  out = node.text;
  return std::nullopt;
}

Complaint read(Node const& node, Key const& key, Duration& out) {
  if (Complaint complaint = refuse_unless_scalar(node)) {
    return complaint;
  }
  ParsedDuration const parsed = parse_duration(node.text);
  if (!parsed.value) {
    switch (parsed.error) {
      case DurationError::malformed:
        return quote(node.text) + " is not a duration";
      case DurationError::no_unit:
        return quote(node.text) + " has no unit";
      case DurationError::negative:
        return quote(node.text) + " is negative";
      case DurationError::fraction:
        return quote(node.text) + " is a fraction";
      case DurationError::overflow:
        return quote(node.text) + " is out of range";
    }
  }
  if (key.range &&
      (parsed.value->count() < key.range->minimum || parsed.value->count() > key.range->maximum)) {
    return quote(node.text) + " is out of range";
  }
  out = *parsed.value;
  return std::nullopt;
}

Complaint read(Node const& node, Key const& key, std::uint64_t& out) {
  return read_whole(node, std::numeric_limits<std::uint64_t>::max(), key, out);
}

Complaint read(Node const& node, Key const& key, std::uint32_t& out) {
  std::uint64_t wide = 0;
  Complaint complaint = read_whole(node, std::numeric_limits<std::uint32_t>::max(), key, wide);
  if (complaint) {
    return complaint;
  }
  auto const number = static_cast<std::uint32_t>(wide);
  if (!key.allowed.empty() &&
      std::find(key.allowed.begin(), key.allowed.end(), number) == key.allowed.end()) {
    return quote(node.text);
  }
  out = number;
  return std::nullopt;
}

Complaint read(Node const& node, Key const& key, double& out) {
  if (Complaint complaint = refuse_unless_plain(node)) {
    return complaint;
  }
  std::string_view const text = node.text;
  bool const starts_well = !text.empty() && ((text.front() >= '0' && text.front() <= '9') ||
                                             text.front() == '-' || text.front() == '.');
  auto const number = parse_number<double>(text);
  if (!starts_well || !number || !std::isfinite(*number)) {
    return quote(text) + " is not a number";
  }
  if (key.range && (*number < static_cast<double>(key.range->minimum) ||
                    *number > static_cast<double>(key.range->maximum))) {
    return quote(text) + " is out of range";
  }
  out = *number;
  return std::nullopt;
}

Complaint read(Node const& node, Key const& key, Address& out) {
  if (Complaint complaint = refuse_unless_scalar(node)) {
    return complaint;
  }
  std::optional<Address> address = parse_address(node.text);
  if (!address) {
    return quote(node.text);
  }
  if (key.local && !is_ip_literal(address->host)) {
    return quote(node.text) + " is not an IP address";
  }
  if (key.range && address->port < key.range->minimum) {
    return quote(node.text) + " has port 0";
  }
  out = std::move(*address);
  return std::nullopt;
}

Complaint read(Node const& node, Key const& /*key*/, FileMode const& out) {
  if (Complaint complaint = refuse_unless_scalar(node)) {
    return complaint;
  }
  std::string_view const text = node.text;
  if (node.style == Node::Style::plain) {
    return quote(text) + " is a number unless quoted";
  }
  auto const mode = parse_number<std::uint32_t>(text, 8);
  if (!mode || *mode > 0777 || text.size() < 3 || text.size() > 4) {
    return quote(text);
  }
  *out.at = *mode;
  return std::nullopt;
}

Complaint read(Node const& node, Key const& /*key*/, Choice const& out) {
  if (Complaint complaint = refuse_unless_scalar(node)) {
    return complaint;
  }
  auto const found = std::find(out.names.begin(), out.names.end(), node.text);
  if (found == out.names.end()) {
    return quote(node.text);
  }
  out.set(static_cast<std::size_t>(found - out.names.begin()));
  return std::nullopt;
}

}  // namespace lastcall::config
