#include "probes/checks/http_url.hpp"

#include <algorithm>
#include <string_view>

#include "base/parse_number.hpp"

namespace lastcall::probes {

std::string parse_http_url(std::string const& text, HttpUrl& out) {
  constexpr std::string_view kScheme = "http://";
  std::string const expected = ", expected http://host[:port][/path]";
  if (!text.starts_with(kScheme)) {
    return "cannot check " + text + ": not an http URL" + expected;
  }
  std::string_view rest = std::string_view(text).substr(kScheme.size());
  auto const slash = rest.find_first_of("/?");
  std::string_view const authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) {
    out.path = (rest[slash] == '?' ? "/" : "") + std::string(rest.substr(slash));
    out.path = out.path.substr(0, out.path.find('#'));
  }
  bool const bracketed = authority.starts_with('[');
  auto const host_end = bracketed ? authority.find(']') : authority.rfind(':');
  if (bracketed && host_end == std::string_view::npos) {
    return "cannot check " + text + ": '[' without ']'" + expected;
  }
  out.host_header = std::string(authority);
  out.target.host =
      std::string(bracketed ? authority.substr(1, host_end - 1) : authority.substr(0, host_end));
  std::string_view const port_part = bracketed
                                         ? authority.substr(host_end + 1)
                                         : authority.substr(std::min(host_end, authority.size()));
  out.target.port = 80;
  if (!port_part.empty()) {
    out.target.port = parse_number<std::uint16_t>(port_part.substr(1)).value_or(0);
    if (port_part[0] != ':' || out.target.port == 0) {
      return "cannot check " + text + ": '" + std::string(port_part) + "' is not a port" + expected;
    }
  }
  auto const is_bad = [](char c) { return c <= ' ' || c == '@' || c == '\x7f'; };
  if (out.target.host.empty() || std::any_of(authority.begin(), authority.end(), is_bad) ||
      std::any_of(out.path.begin(), out.path.end(), [](char c) { return c <= ' ' && c >= 0; })) {
    return "cannot check " + text + ": not an http URL" + expected;
  }
  return {};
}

}  // namespace lastcall::probes
