#include "config/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/address_text.hpp"
#include "base/ascii.hpp"
#include "base/parse_number.hpp"

namespace lastcall::config {
namespace {

using ascii::is_digit;

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr std::array<Unit, 4> kUnits{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

std::optional<std::uint16_t> parse_port(std::string_view text) {
  return parse_number<std::uint16_t>(text);
}

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && host.front() != '-' && host.front() != '.' &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return ascii::is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

bool is_address_of_family(int family, std::string_view host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(family, std::string(host).c_str(), bytes.data()) == 1;
}

/// True if the bits of the address after the prefix are 0.
bool is_zero_behind(Network const& network) {
  constexpr unsigned kBitsOfAByte = 8;
  for (unsigned bit = network.bits; bit < kBitsOfAByte * network.address.size(); ++bit) {
    unsigned const byte = network.address[bit / kBitsOfAByte];
    if ((byte >> (kBitsOfAByte - 1 - bit % kBitsOfAByte) & 1U) != 0) {
      return false;
    }
  }
  return true;
}

/// "host", "host:port", "[v6]" or "[v6]:port"; the port is `fallback` if the text has none.
std::optional<Address> parse_authority(std::string_view text,
                                       std::optional<std::uint16_t> fallback) {
  std::string_view host;
  std::string_view rest;
  if (!text.empty() && text.front() == '[') {
    std::size_t const close = text.find(']');
    if (close == std::string_view::npos) {
      return std::nullopt;
    }
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (!is_address_of_family(AF_INET6, host)) {
      return std::nullopt;
    }
  } else {
    std::size_t const colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    rest = text.substr(colon);
    if (!is_host_name(host)) {
      return std::nullopt;
    }
  }
  std::optional<std::uint16_t> port = fallback;
  if (!rest.empty()) {
    port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  }
  if (!port) {
    return std::nullopt;
  }
  return Address{std::string(host), *port};
}

std::optional<std::uint16_t> default_port(std::string_view scheme) {
  if (scheme == "http") {
    return std::uint16_t{80};
  }
  if (scheme == "https") {
    return std::uint16_t{443};
  }
  if (scheme == "nats" || scheme == "tls") {
    return std::uint16_t{4222};
  }
  return std::nullopt;
}

}  // namespace

ParsedDuration parse_duration(std::string_view text) {
  if (!text.empty() && text.front() == '-' && text.size() > 1 && is_digit(text[1])) {
    return {std::nullopt, DurationError::negative};
  }
  std::size_t const digits = std::min(
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin()),
      text.size());
  std::string_view const number = text.substr(0, digits);
  std::string_view const unit = text.substr(digits);
  if (number.empty()) {
    return {std::nullopt, DurationError::malformed};
  }
  if (unit.empty()) {
    return {std::nullopt, DurationError::no_unit};
  }
  if (unit.front() == '.') {
    return {std::nullopt, DurationError::fraction};
  }
  auto const* const known =
      std::find_if(kUnits.begin(), kUnits.end(), [&](Unit const& u) { return u.name == unit; });
  if (known == kUnits.end()) {
    return {std::nullopt, DurationError::malformed};
  }
  std::int64_t count = 0;
  auto const [stop, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc{} ||
      count > std::numeric_limits<std::int64_t>::max() / known->milliseconds) {
    return {std::nullopt, DurationError::overflow};
  }
  return {Duration{count * known->milliseconds}, DurationError::malformed};
}

std::string to_text(Duration duration) {
  for (Unit const& unit : kUnits) {
    // People write 60s and 90s, but 2m instead of 120s and 1h instead of 60m.
    std::int64_t const least = unit.name == "m" ? 2 : unit.name == "s" ? 0 : 1;
    if (duration.count() % unit.milliseconds == 0 &&
        duration.count() / unit.milliseconds >= least) {
      return std::to_string(duration.count() / unit.milliseconds) + std::string(unit.name);
    }
  }
  return std::to_string(duration.count()) + "ms";
}

std::string to_text(Address const& address) {
  return address_text(address.host, address.port);
}

std::optional<Address> parse_address(std::string_view text) {
  return parse_authority(text, std::nullopt);
}

std::optional<std::string> parse_unix(std::string_view text) {
  constexpr std::string_view kScheme = "unix:";
  if (!text.starts_with(kScheme) || !kSocketPath.accepts(text.substr(kScheme.size()))) {
    return std::nullopt;
  }
  return std::string(text.substr(kScheme.size()));
}

bool is_ip_literal(std::string_view host) {
  return is_address_of_family(AF_INET, host) || is_address_of_family(AF_INET6, host);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::optional<Network> parse_network(std::string_view text) {
  std::size_t const slash = text.find('/');
  std::string const address(text.substr(0, slash));
  Network network;
  network.is_v6 = address.find(':') != std::string::npos;
  int const family = network.is_v6 ? AF_INET6 : AF_INET;
  in6_addr v6{};
  if (inet_pton(family, address.c_str(), network.is_v6 ? v6.s6_addr : network.address.data()) !=
      1) {
    return std::nullopt;
  }
  if (network.is_v6) {
    std::copy(std::begin(v6.s6_addr), std::end(v6.s6_addr), network.address.begin());
  }
  unsigned const longest = network.is_v6 ? 128 : 32;
  network.bits = longest;
  if (slash != std::string_view::npos) {
    std::string_view const digits = text.substr(slash + 1);
    auto const bits = parse_number<unsigned>(digits);
    if (!bits || *bits > longest || (digits.size() > 1 && digits.front() == '0')) {
      return std::nullopt;
    }
    network.bits = *bits;
  }
  return is_zero_behind(network) && !IN6_IS_ADDR_V4MAPPED(&v6) ? std::optional(network)
                                                               : std::nullopt;
}

std::optional<Url> parse_url(std::string_view text) {
  std::size_t const scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view const scheme = text.substr(0, scheme_end);
  std::optional<std::uint16_t> const port = default_port(scheme);
  bool const is_clean = std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c != '\x7f' && c != '#' && c != '"' && c != '<' && c != '>' && c != '\\';
  });
  if (!port || !is_clean) {
    return std::nullopt;
  }
  std::string_view const rest = text.substr(scheme_end + 3);
  std::size_t const path_at = std::min(rest.find_first_of("/?"), rest.size());
  std::optional<Address> address = parse_authority(rest.substr(0, path_at), port);
  if (!address || address->port == 0) {
    return std::nullopt;
  }
  std::string path(rest.substr(path_at));
  if (path.empty() || path.front() == '?') {
    path.insert(path.begin(), '/');
  }
  return Url{std::string(scheme), std::move(*address), std::move(path)};
}

std::pair<std::string, std::string> header_of(std::string_view text) {
  std::size_t const colon = text.find(':');
  std::string_view value = text.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return {std::string(text.substr(0, colon)), std::string(value)};
}

PlainType plain_type(std::string_view text) {
  if (text.empty() || text == "~") {
    return PlainType::null;
  }
  std::string const lower = ascii::lower_text(text);
  if (lower == "null") {
    return PlainType::null;
  }
  constexpr std::array<std::string_view, 8> kBooleans{"true", "false", "yes", "no",
                                                      "on",   "off",   "y",   "n"};
  if (std::find(kBooleans.begin(), kBooleans.end(), lower) != kBooleans.end()) {
    return PlainType::boolean;
  }
  // Numbers are decimals with optional sign, fraction and exponent; 0x and 0o; .inf and .nan.
  std::string_view body = lower;
  if (body.front() == '-' || body.front() == '+') {
    body.remove_prefix(1);
  }
  if (body == ".inf" || body == ".nan") {
    return PlainType::number;
  }
  if (body.size() > 2 && body[0] == '0' && (body[1] == 'x' || body[1] == 'o')) {
    bool const is_hex = body[1] == 'x';
    bool const all = std::all_of(body.begin() + 2, body.end(), [&](char c) {
      return is_hex ? is_digit(c) || (c >= 'a' && c <= 'f') : c >= '0' && c <= '7';
    });
    return all ? PlainType::number : PlainType::text;
  }
  if (body.empty() || !(is_digit(body.front()) || (body.size() > 1 && body[0] == '.'))) {
    return PlainType::text;
  }
  double number = 0;
  char const* const end = body.data() + body.size();
  auto const [stop, error] = std::from_chars(body.data(), end, number);
  bool const is_number =
      stop == end && (error == std::errc{} || error == std::errc::result_out_of_range);
  return is_number ? PlainType::number : PlainType::text;
}

}  // namespace lastcall::config
