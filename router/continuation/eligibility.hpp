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

/// The facts that are known of an answer, as far as they matter here.
struct Known {
  Request const& request;
  Transcript const& transcript;
  std::string_view held;      // of its text, and not at the client
  Refused odd = Refused::no;  // what was sent rules it out
};

/// Whether any capable worker could continue it.
Refused why_not(Known const& known);
Refused why_not_by_ids(Known const& known);
Refused why_not_by_text(Known const& known);
/// Reported after the last clean boundary: a worker that can detokenize them proves that they can
/// be given back. Empty if there is nothing to prove or a proof would not help.
TokenIds ids_to_prove(Known const& known);
/// Whether the client has nothing of the text.
bool has_shown_nothing(Known const& known);

/// How a worker of that mode would continue; absent if it cannot.
std::optional<Way> way_for(Known const& known, Mode mode);
/// The number of tokens of the answer that it would receive.
std::uint64_t kept(Known const& known, Way way);
/// Whether these reach the limit in tokens, so that nothing is left to send.
bool is_spent(Known const& known, Way way);

Verifier::Expected proof_of(Known const& known, Way way);

}  // namespace lastcall::router::continuation
