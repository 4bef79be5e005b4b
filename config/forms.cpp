// The forms of text values, each with a text that explains it.
#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/socket_address.hpp"
#include "config/cleanup_rule.hpp"
#include "config/text.hpp"

namespace lastcall::config {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
}
bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), is_control);
}

/// True if the text is not empty and has only letters, digits and the characters of `others`.
bool consists_of(std::string_view text, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return ascii::is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
  });
}

bool has_scheme(std::string_view text, std::string_view one, std::string_view other) {
  std::optional<Url> const url = parse_url(text);
  return url && (url->scheme == one || url->scheme == other);
}

/// A token of RFC 9110, a colon, and a value of one line. The headers that our client writes
/// itself, for framing above all, are not allowed.
bool is_http_header(std::string_view text) {
  constexpr std::array<std::string_view, 4> kOurs{"host", "content-length", "transfer-encoding",
                                                  "connection"};
  std::size_t const colon = std::min(text.find(':'), text.size());
  std::string const name = ascii::lower_text(text.substr(0, colon));
  return colon < text.size() && consists_of(name, "!#$%&'*+-.^_`|~") && is_one_line(text) &&
         std::find(kOurs.begin(), kOurs.end(), name) == kOurs.end();
}

bool is_http_body(std::string_view text) {
  constexpr std::array<std::string_view, 9> kNames{"action",    "instance_id", "instance_hex",
                                                   "namespace", "component",   "endpoint",
                                                   "advertise", "model",       "pod_uid"};
  for (std::size_t at = text.find("${"); at != std::string_view::npos; at = text.find("${", at)) {
    at += 2;
    std::string_view const name = text.substr(at, text.find('}', at) - at);
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
      return false;
    }
  }
  return text.find('\0') == std::string_view::npos;
}

bool is_absolute_path(std::string_view text) {
  return !text.empty() && text.front() == '/' && is_one_line(text);
}

/// A path in the form in which request paths are compared: nothing in it needs decoding, and no
/// other path means the same.
bool is_control_path(std::string_view text) {
  std::string_view const path = text.ends_with('*') ? text.substr(0, text.size() - 1) : text;
  return text.size() > 1 && text.front() == '/' && consists_of(path, "/._-~:@!$&'()+,=") &&
         path.find("//") == std::string_view::npos && path.find("/.") == std::string_view::npos;
}

/// True for the ciphers of OpenSSL 3 with forward secrecy and authenticated encryption: neither RSA
/// key exchange nor CBC is among them. ADR 0015.
bool is_cipher(std::string_view text) {
  constexpr std::array<std::string_view, 9> kNames{
      "TLS_AES_128_GCM_SHA256",       "TLS_AES_256_GCM_SHA384",
      "TLS_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256",
      "ECDHE-RSA-AES128-GCM-SHA256",  "ECDHE-ECDSA-AES256-GCM-SHA384",
      "ECDHE-RSA-AES256-GCM-SHA384",  "ECDHE-ECDSA-CHACHA20-POLY1305",
      "ECDHE-RSA-CHACHA20-POLY1305"};
  return std::find(kNames.begin(), kNames.end(), text) != kNames.end();
}

bool is_certificate_name(std::string_view text) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

bool is_cleanup_path(std::string_view text) {
  return is_one_line(text) && refuse_cleanup_path(text).empty();
}

bool is_signal(std::string_view text) {
  constexpr std::array<std::string_view, 6> kNames{"SIGTERM", "SIGINT",  "SIGQUIT",
                                                   "SIGHUP",  "SIGUSR1", "SIGUSR2"};
  return std::find(kNames.begin(), kNames.end(), text) != kNames.end();
}

bool is_metric_name(std::string_view text) {
  return consists_of(text, "_:") && !(text.front() >= '0' && text.front() <= '9');
}

bool is_subject(std::string_view text) {
  return consists_of(text, "_-.") && text.front() != '.' && text.back() != '.' &&
         text.find("..") == std::string_view::npos;
}

bool is_qualified_name(std::string_view text) {
  std::size_t const slash = text.find('/');
  std::string_view const name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  bool const has_good_prefix =
      slash == std::string_view::npos || consists_of(text.substr(0, slash), "-.");
  return has_good_prefix && name.size() <= 63 && consists_of(name, "-_.") &&
         ascii::is_letter_or_digit(name.front()) && ascii::is_letter_or_digit(name.back());
}

}  // namespace

Form const kAnyText{"a text of one line", is_one_line, "^.*$"};
Form const kArgument{"a text",
                     [](std::string_view t) { return t.find('\0') == std::string_view::npos; }, ""};
Form const kName{"letters, digits, '.', '_' and '-'",
                 [](std::string_view t) { return consists_of(t, "._-"); }, "^[A-Za-z0-9._-]+$"};
Form const kHttpUrl{"a URL such as http://10.0.0.7:8080",
                    [](std::string_view t) { return has_scheme(t, "http", "https"); },
                    "^https?://[^\\s#]+$"};
Form const kPlainHttpUrl{"a plain HTTP URL such as http://127.0.0.1:8000/health",
                         [](std::string_view t) { return has_scheme(t, "http", "http"); },
                         "^http://[^\\s#]+$"};
Form const kNatsUrl{"a URL such as nats://127.0.0.1:4222",
                    [](std::string_view t) { return has_scheme(t, "nats", "tls"); },
                    "^(nats|tls)://[^\\s#]+$"};
Form const kHttpHeader{"a header such as X-Team: inference, but none of the connection itself",
                       is_http_header, "^[A-Za-z0-9!#$%&'*+.^_`|~-]+:.*$"};
Form const kHttpBody{"a text in which every ${...} is one of those above", is_http_body, ""};
Form const kAbsolutePath{"an absolute path", is_absolute_path, "^/.*$"};
Form const kSocketPath{"an absolute path of at most 107 bytes",
                       [](std::string_view t) {
                         return is_absolute_path(t) && t.size() > 1 &&
                                t.size() <= kLongestSocketPath;
                       },
                       "^/.{1,106}$"};
Form const kCleanupPath{
    "an absolute path without '.' and '..' such as /tmp/lora-*: below /tmp, /var/tmp, /run or "
    "/dev/shm, or with at least two fixed directories before what is removed",
    is_cleanup_path, "^/+((tmp|run|var/+tmp|dev/+shm)/+[^/]|[^/*?\\[]+/+[^/*?\\[]+/+[^/]).*$"};
Form const kSignal{"SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1 or SIGUSR2", is_signal,
                   "^SIG(TERM|INT|QUIT|HUP|USR1|USR2)$"};
Form const kMetricName{"the name of a Prometheus metric", is_metric_name,
                       "^[a-zA-Z_:][a-zA-Z0-9_:]*$"};
Form const kSubject{"a NATS subject without wildcards", is_subject, "^[A-Za-z0-9_.-]+$"};
Form const kToken{"visible ASCII characters without spaces",
                  [](std::string_view t) {
                    return !t.empty() && std::all_of(t.begin(), t.end(),
                                                     [](char c) { return c > ' ' && c < '\x7f'; });
                  },
                  "^[!-~]+$"};
Form const kQualifiedName{"a Kubernetes name such as lastcall.dev/serving", is_qualified_name,
                          "^([A-Za-z0-9.-]+/)?[A-Za-z0-9._-]{1,63}$"};
Form const kUpstream{"an address such as 127.0.0.1:8000, or a socket such as unix:/run/engine.sock",
                     [](std::string_view t) {
                       std::optional<Address> const address = parse_address(t);
                       return (address && address->port != 0) || parse_unix(t);
                     },
                     "^(unix:/.{1,106}|.*:[0-9]{1,5})$"};
Form const kNetwork{
    "a network such as 10.0.0.0/8 or fd00::/8, with only zeros after its prefix, or an address",
    [](std::string_view t) { return parse_network(t).has_value(); },
    "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$"};
Form const kCipher{
    "a cipher with forward secrecy such as TLS_AES_128_GCM_SHA256 or ECDHE-RSA-AES128-GCM-SHA256 "
    "(docs/ingress.md lists them)",
    is_cipher,
    "^(TLS_(AES_128_GCM_SHA256|AES_256_GCM_SHA384|CHACHA20_POLY1305_SHA256)|ECDHE-(ECDSA|RSA)-"
    "(AES128-GCM-SHA256|AES256-GCM-SHA384|CHACHA20-POLY1305))$"};
Form const kCertificateName{"a name such as spiffe://cluster.local/ns/ops/sa/admin",
                            is_certificate_name, "^[!-~]([ -~]*[!-~])?$"};
Form const kControlPath{
    "a path such as /sleep or /update_weights*, without '%', '?', doubled slashes or dot segments",
    is_control_path, "^/[A-Za-z0-9._~:@!$&'()+,=/-]*[*]?$"};
Form const kEndpoint{"an endpoint name, or a path such as /v1/completions",
                     [](std::string_view t) { return consists_of(t, "._-/:"); },
                     "^[A-Za-z0-9._/:-]+$"};

}  // namespace lastcall::config
