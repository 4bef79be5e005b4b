// The reason phrases that follow a status in the answers of this project's programs.
//
// Pure, no thread rule. Source: RFC 9110, section 15; 499 and 529 are nginx's and Anthropic's.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lastcall::relay {

struct StatusPhrase {
  unsigned status;
  std::string_view phrase;
};

inline constexpr std::array<StatusPhrase, 27> kStatusPhrases{{
    {200, "OK"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {529, "Site Overloaded"},
}};

constexpr std::string_view phrase_of(unsigned status) {
  auto const* const found =
      std::find_if(kStatusPhrases.begin(), kStatusPhrases.end(),
                   [status](StatusPhrase const& one) { return one.status == status; });
  return found == kStatusPhrases.end() ? "Error" : found->phrase;
}

}  // namespace lastcall::relay
