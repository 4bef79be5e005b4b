// The text forms of single values: durations, addresses, URLs, paths, names.
//
// Rules:
//  1. Each form has one grammar with decimal digits only: octal, hexadecimal, signs, exponents and
//     spaces are never guessed at.
//  2. For a value that a parser accepts, the matching printer writes a text that means the same.
//  3. A Form is a check with its own explanation, so that the decoder, the documentation and the
//     JSON Schema agree about a key.
//
// Pure values, no thread rule. Sources: RFC 3986 (the subset that URLs of engines and registries
// use),
// unix(7) for the length of a socket path.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/schema.hpp"

namespace lastcall::config {

/// Why a duration did not parse; the decoder turns it into a text.
enum class DurationError { malformed, no_unit, negative, fraction, overflow };

struct ParsedDuration {
  std::optional<Duration> value;
  DurationError error = DurationError::malformed;
};

/// "60s", "500ms", "2m", "1h": digits and one unit.
ParsedDuration parse_duration(std::string_view text);
/// Prints in the largest unit that loses nothing, but minutes only from two on: "90s", "60s", "2m",
/// "1h".
std::string to_text(Duration duration);

/// "host:port" or "[v6]:port".
std::optional<Address> parse_address(std::string_view text);
/// The path of "unix:/path"; nothing if the text has another form.
std::optional<std::string> parse_unix(std::string_view text);
/// Whether the host is a literal IPv4 or IPv6 address, which a listener requires.
bool is_ip_literal(std::string_view host);

/// Whether only this machine can reach the host.
bool is_loopback(std::string_view host);

/// All addresses that have their first `bits` in common.
struct Network {
  std::array<std::uint8_t, 16> address{};  // IPv4 is in the first 4 bytes
  bool is_v6 = false;
  unsigned bits = 0;
  friend bool operator==(Network const&, Network const&) = default;
};

/// "10.0.0.0/8", "fd00::/8", or one address. The bits after the prefix must be zero, and an IPv4
/// address must not be written in IPv6 form: such a text would not work the way it is meant.
std::optional<Network> parse_network(std::string_view text);

struct Url {
  std::string scheme;
  Address address;   // with the scheme's port if the text has none
  std::string path;  // includes the query; at least "/"
  friend bool operator==(Url const&, Url const&) = default;
};

/// http, https, nats and tls URLs, without user information or fragment.
std::optional<Url> parse_url(std::string_view text);

/// The name and the value of a header text that kHttpHeader accepts.
std::pair<std::string, std::string> header_of(std::string_view text);

/// How a YAML reader understands plain (unquoted) text.
enum class PlainType { text, null, boolean, number };
PlainType plain_type(std::string_view text);

/// A check of a text value, and a text that states what it expects.
struct Form {
  std::string_view expected;  // completes "expected ..."
  bool (*accepts)(std::string_view);
  std::string_view pattern;  // ECMA 262, for the JSON Schema; empty: the schema has none
};

extern Form const kAnyText;          // one line; may be empty
extern Form const kArgument;         // an argument of a command; may be empty
extern Form const kName;             // a segment of a registry key
extern Form const kHttpUrl;          // http or https
extern Form const kPlainHttpUrl;     // http only: the engine is next door
extern Form const kNatsUrl;          // nats or tls
extern Form const kHttpHeader;       // "Name: value", except headers that our client writes itself
extern Form const kHttpBody;         // contains only known ${...}
extern Form const kAbsolutePath;     // a file or directory
extern Form const kSocketPath;       // fits into sockaddr_un
extern Form const kCleanupPath;      // with wildcards: cleanup_rule.hpp
extern Form const kSignal;           // a signal that may stop an engine
extern Form const kMetricName;       // Prometheus
extern Form const kSubject;          // NATS, without wildcards
extern Form const kToken;            // an HTTP header value without spaces
extern Form const kQualifiedName;    // a Kubernetes label or condition: prefix/name
extern Form const kUpstream;         // host:port, or unix:/path
extern Form const kNetwork;          // IPv4 or IPv6, with the length of its prefix
extern Form const kCipher;           // of TLS: one of a closed set
extern Form const kCertificateName;  // visible ASCII, spaces inside
extern Form const kControlPath;      // of an engine's server; a '*' at the end matches any suffix
extern Form const kEndpoint;         // an endpoint's name, or a path with a leading slash

inline constexpr std::string_view kDurationPattern = "^[0-9]+(ms|s|m|h)$";

}  // namespace lastcall::config
