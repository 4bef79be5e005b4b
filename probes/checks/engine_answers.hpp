// Interprets the bodies of an engine's answers: JSON in full, the text of a failed check in part.
//
// Rules:
//  1. An engine may answer anything. An unexpected answer proves nothing, and reading it costs no
//     more than its length.
//  2. JSON is read only if it is at most 16 levels deep and no object has more than 128 members: a
//     working engine never answers with more.
//
// Pure, no thread rule. Source: the OpenAI API's completions and models; vLLM's /is_sleeping,
// /is_paused and /load.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::probes {

/// The first model in a list of models.
struct ListedModel {
  std::optional<std::string> id;  // unset: the list is empty
  std::string owner;
};
ListedModel first_model(std::string_view list);

/// Whether the engine is at rest, as `member` shows; nothing if the answer does not state it.
std::optional<bool> is_true(std::string_view answer, std::string const& member);

/// The requests that the engine's load counter counts.
std::optional<std::uint64_t> load_in(std::string_view answer);

/// Empty if this answer holds a generated token; otherwise the reason why it proves nothing.
std::string why_no_token(std::string_view answer);

/// A figure from an engine as a count: a value above 0 is never rounded to 0.
std::uint64_t whole(double figure);

/// The beginning of a body, in a form that fits into one line of a log.
std::string quoted_body(std::string_view body);

}  // namespace lastcall::probes
