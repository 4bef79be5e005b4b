// Decides whether an answer can be continued from its record, and what proof a continuation needs.
//
// Pure, no thread rule. Source: docs/continuation.md, the table subject by subject.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "router/continuation/bodies.hpp"
#include "router/continuation/refused.hpp"
#include "router/continuation/request.hpp"
#include "router/continuation/transcript.hpp"
#include "router/continuation/verifier.hpp"

namespace lastcall::router::continuation {

/// The facts about an answer that matter for its continuation.
struct Known {
  Request const& request;
  Transcript const& transcript;
  std::string_view held;         // text that has not been sent to the client
  Refused odd = Refused::no;     // set if something that was sent rules a continuation out
  bool is_inside_event = false;  // the client has a part of an event that is too large
  bool is_unproven = false;      // the leg has never been proven to continue the answer
};

/// Returns the reason why no worker at all could continue the answer; Refused::no if a capable one
/// could.
Refused why_not(Known const& known);
Refused why_not_by_ids(Known const& known);
Refused why_not_by_text(Known const& known);
/// The ids that were reported after the last clean boundary; a worker that can detokenize them
/// proves that they can be sent back. Empty if there is nothing to prove or a proof would not help.
TokenIds ids_to_prove(Known const& known);
/// Whether the client has received none of the text.
bool has_shown_nothing(Known const& known);

/// How a worker of that mode would continue; absent if it cannot.
std::optional<Way> way_for(Known const& known, Mode mode);
/// The number of the answer's tokens that such a continuation would receive.
std::uint64_t kept(Known const& known, Way way);
/// Whether that number reaches the request's limit on tokens, so that nothing is left to send.
bool is_spent(Known const& known, Way way);

Verifier::Expected proof_of(Known const& known, Way way);

}  // namespace lastcall::router::continuation
