// What the bodies of an engine's answers mean: JSON in full, the words of a failed check in part.
//
// Rules:
//  1. An engine may answer anything. What is not the answer that was asked for proves nothing, and
//     costs no more than its length.
//  2. JSON is read where it is no deeper than 16 and has no object of more than 128 members: no
//     engine that is in order answers with more.
//
// Pure, no thread rule. Source: the OpenAI API's completions and models; vLLM's /is_sleeping,
// /is_paused and /load.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastcall::probes {

/// The first of a list of models.
struct ListedModel {
  std::optional<std::string> id;  // nothing: it lists none
  std::string owner;
};
ListedModel first_model(std::string_view list);

/// Whether the engine rests, by the member that shows it; nothing: the answer does not state it.
std::optional<bool> is_true(std::string_view answer, std::string const& member);

/// The requests that the engine's load counter counts.
std::optional<std::uint64_t> load_in(std::string_view answer);

/// Empty: this answer holds a generated token. Otherwise why it proves nothing.
std::string why_no_token(std::string_view answer);

/// A figure of an engine's as a count: more than nothing is never rounded to nothing.
std::uint64_t whole(double figure);

/// The begin of a body, fit for one line of a log.
std::string quoted_body(std::string_view body);

}  // namespace lastcall::probes
