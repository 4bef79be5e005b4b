#include "router/continuation/eligibility.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "router/continuation/json_edits.hpp"
#include "router/continuation/text_gate.hpp"

namespace lastcall::router::continuation {
namespace {

/// Returns the last bytes of the prompt, which no first delta may contain; empty unless the prompt
/// is a text.
std::string prompt_end_of(Request const& request) {
  constexpr std::size_t kEnd = 24;
  std::vector<json::Member> room;
  json::Value const* const prompt = find_value(request.members(room), "prompt");
  if (prompt == nullptr || prompt->kind != json::Kind::string) {
    return {};
  }
  std::string const text = json::to_string(*prompt);
  return text.substr(text.size() - std::min(text.size(), kEnd));
}

/// Engines hold back the text that may be the start of a stop string, at least a byte for each
/// token.
std::uint64_t most_held_for_stops(Request const& request) {
  std::size_t longest = 0;
  for (std::string const& stop : request.stops()) {
    longest = std::max(longest, stop.size());
  }
  return longest;
}

/// Returns the first bytes of the delivered content. The last bytes do not count, because an engine
/// that emits the prompt may hold back its end for a stop string or a parser. It is empty if too
/// little is left, which a token might contain by chance.
std::string delivered_begin_of(Known const& known) {
  constexpr std::size_t kBegin = 24;
  constexpr std::size_t kShortest = 8;
  constexpr std::size_t kLongestMarker = 16;
  std::string_view text = known.transcript.text();
  text.remove_suffix(
      std::min<std::size_t>(text.size(), most_held_for_stops(known.request) + kLongestMarker));
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return std::string(text.size() < kShortest ? std::string_view() : text.substr(0, kBegin));
}

}  // namespace

Refused why_not(Known const& known) {
  Request const& request = known.request;
  if (known.odd != Refused::no) {
    // The second answer of several is odd, but what rules it out is that there are several.
    return request.is_plain() && known.odd == Refused::odd_event ? request.by_text : known.odd;
  }
  if (!known.transcript.has_text()) {  // then the whole request is sent again
    bool const has_reported_ids = request.wants_ids && !known.transcript.tail_ids().empty();
    bool const is_known = request.endpoint != Endpoint::other && request.is_readable;
    return has_reported_ids ? Refused::ids_not_level : is_known ? Refused::no : request.by_text;
  }
  bool const can_by_ids = why_not_by_ids(known) == Refused::no;
  return can_by_ids ? Refused::no : why_not_by_text(known);
}

Refused why_not_by_ids(Known const& known) {
  if (known.request.by_ids != Refused::no) {
    return known.request.by_ids;
  }
  if (!known.transcript.knows_ids()) {
    return Refused::ids_unknown;
  }
  // Otherwise the client would have ids, or data about them, that are discarded.
  bool const wants_each = known.request.wants_ids || known.request.wants_logprobs;
  bool const has_reported_more = wants_each && !known.transcript.tail_ids().empty();
  return known.transcript.is_level() && !has_reported_more ? Refused::no : Refused::ids_not_level;
}

TokenIds ids_to_prove(Known const& known) {
  Transcript const& transcript = known.transcript;
  bool const is_missing = known.odd == Refused::no && known.request.by_ids == Refused::no &&
                          transcript.has_text() && transcript.knows_ids() && !transcript.is_level();
  return is_missing ? transcript.tail_ids(Tail::with_text) : TokenIds{};
}

Refused why_not_by_text(Known const& known) {
  Request const& request = known.request;
  Transcript const& transcript = known.transcript;
  if (request.by_text != Refused::no) {
    return request.by_text;
  }
  if (transcript.has_reasoned()) {
    return Refused::reasoning_by_text;
  }
  if (request.wants_ids) {
    return Refused::ids_not_level;
  }
  if (!transcript.prompt_count() && !transcript.prompt()) {
    return Refused::prompt_unknown;
  }
  if (request.counts_tokens() && !transcript.count().known()) {
    return Refused::count_unknown;
  }
  bool const is_trimmed = request.endpoint == Endpoint::chat;
  std::size_t const space = is_trimmed ? space_at_end(transcript.text()) : 0;
  return space <= space_at_end(known.held) ? Refused::no : Refused::space_sent;
}

bool has_shown_nothing(Known const& known) {
  Transcript const& transcript = known.transcript;
  bool const all_is_held =
      transcript.text().size() == known.held.size() && !known.request.wants_ids;
  return !transcript.has_text() || (all_is_held && !transcript.has_reasoned());
}

std::optional<Way> way_for(Known const& known, Mode mode) {
  bool const by_ids =
      known.transcript.has_text() && takes_ids(mode) && why_not_by_ids(known) == Refused::no;
  if (by_ids) {
    return Way::by_ids;
  }
  if (has_shown_nothing(known)) {
    return Way::whole;
  }
  bool const by_text = mode != Mode::none && why_not_by_text(known) == Refused::no;
  return by_text ? std::optional(Way::by_text) : std::nullopt;
}

std::uint64_t kept(Known const& known, Way way) {
  return way == Way::by_ids ? known.transcript.kept_by_ids() : known.transcript.count().about();
}

bool is_spent(Known const& known, Way way) {
  return way != Way::whole && known.request.max_tokens &&
         kept(known, way) >= *known.request.max_tokens;
}

Verifier::Expected proof_of(Known const& known, Way way) {
  Transcript const& transcript = known.transcript;
  Verifier::Expected expected{.way = way,
                              .prompt_ids = transcript.prompt(),
                              .exactly = std::nullopt,
                              .prompt_count = transcript.prompt_count(),
                              .since_ids = transcript.count().about_since_prompt(),
                              .since_count = transcript.count().about(),
                              .held = most_held_for_stops(known.request),
                              .prompt_end = prompt_end_of(known.request),
                              .delivered_begin = delivered_begin_of(known)};
  if (transcript.knows_ids() && transcript.is_level()) {
    expected.exactly = transcript.history();
  }
  if (way == Way::by_ids) {
    expected.prompt_ids = expected.exactly;
  }
  return expected;
}

}  // namespace lastcall::router::continuation
