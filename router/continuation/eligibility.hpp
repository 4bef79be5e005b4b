// Whether an answer can be continued from what is recorded of it, and the proof that a continuation
// has to give.
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

/// On any worker that can.
Refused why_not(Known const& known);
Refused why_not_by_ids(Known const& known);
Refused why_not_by_text(Known const& known);
/// Reported after the last clean boundary: a worker that can detokenize them proves that they can
/// be given back. Empty: there is nothing to prove, or it would not help.
TokenIds ids_to_prove(Known const& known);
/// The client has nothing of the text.
bool has_shown_nothing(Known const& known);

/// How a worker of that mode would go on; nothing: it cannot.
std::optional<Way> way_for(Known const& known, Mode mode);
/// Tokens of the answer that it would be given.
std::uint64_t kept(Known const& known, Way way);
/// With those the limit in tokens is reached: nothing is left to be sent.
bool is_spent(Known const& known, Way way);

Verifier::Expected proof_of(Known const& known, Way way);

}  // namespace lastcall::router::continuation
