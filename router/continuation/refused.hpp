// The reasons why a request cannot be continued at another worker: a closed set of words.
//
// Rule: a reason has the same label in the metric, in the error event, and in docs/continuation.md.
//
// Values only, no thread rule. Source: docs/continuation.md, the table subject by subject.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lastcall::router::continuation {

enum class Refused : std::uint8_t {
  no,
  // because of the request
  forbidden,
  endpoint,
  not_streamed,
  unreadable,
  duplicate_keys,
  several_choices,
  echo,
  guided_output,
  forced_tool,
  penalty,
  custom_sampling,
  stop_regex,
  many_stops,
  stop_after_minimum,
  prompt_kind,
  disaggregated,
  session,
  truncation,
  hidden_reasoning,
  logprobs,
  media,
  stop_held,
  assistant_last,
  // because of what has been sent
  tool_call_begun,
  reasoning_by_text,
  odd_event,
  ids_unknown,
  ids_not_level,
  count_unknown,
  prompt_unknown,
  space_sent,
  memory,
  // because of the worker
  worker_cannot,
  // because of the limits
  moved_too_often,
  engine_died_twice,
  poison,
  budget,
};

struct RefusedWords {
  Refused why{};
  std::string_view label;
  std::string_view text;  // the text that follows "cannot be continued elsewhere: "
};

inline constexpr std::array kRefusedWords = std::to_array<RefusedWords>({
    {Refused::no, "", ""},
    {Refused::forbidden, "forbidden", "its client forbids it"},
    {Refused::endpoint, "endpoint", "its endpoint is neither completions nor chat completions"},
    {Refused::not_streamed, "not_streamed", "it does not request a stream"},
    {Refused::unreadable, "unreadable", "its body is not a JSON object that can be edited"},
    {Refused::duplicate_keys, "duplicate_keys", "its body has a duplicate key"},
    {Refused::several_choices, "several_choices", "it requests several answers, or beam search"},
    {Refused::echo, "echo", "the answer includes the prompt or a suffix"},
    {Refused::guided_output, "guided_output", "the state of its grammar would start anew"},
    {Refused::forced_tool, "forced_tool", "it forces a tool call"},
    {Refused::penalty, "penalty", "its penalties count only the output"},
    {Refused::custom_sampling, "custom_sampling",
     "its sampling keeps a state that cannot be moved"},
    {Refused::stop_regex, "stop_regex", "its stop expression cannot be matched across the seam"},
    {Refused::many_stops, "many_stops", "its stop strings are too many or too long"},
    {Refused::stop_after_minimum, "stop_after_minimum",
     "its stop strings count only after min_tokens"},
    {Refused::prompt_kind, "prompt_kind", "its prompt is neither one text nor one list of ids"},
    {Refused::disaggregated, "disaggregated", "it is bound to a transfer of its cache"},
    {Refused::session, "session", "it is bound to a session of its worker"},
    {Refused::truncation, "truncation", "its prompt may be truncated"},
    {Refused::hidden_reasoning, "hidden_reasoning", "its reasoning is hidden"},
    {Refused::logprobs, "logprobs",
     "the offsets of its logprobs cannot be converted to those of "
     "the whole answer"},
    {Refused::media, "media", "it has parts other than text"},
    {Refused::stop_held, "stop_held", "the engine holds text back for its stop strings"},
    {Refused::assistant_last, "assistant_last", "its last message is already the assistant's"},
    {Refused::tool_call_begun, "tool_call_begun", "a tool call has begun"},
    {Refused::reasoning_by_text, "reasoning_by_text", "reasoning cannot be sent back as text"},
    {Refused::odd_event, "odd_event", "its stream contains something that is not understood"},
    {Refused::ids_unknown, "ids_unknown", "its worker reported no token ids"},
    {Refused::ids_not_level, "ids_not_level", "token ids and text do not end at the same place"},
    {Refused::count_unknown, "count_unknown",
     "its worker did not report how many tokens it "
     "generated"},
    {Refused::prompt_unknown, "prompt_unknown",
     "its worker did not report the length of its "
     "prompt"},
    {Refused::space_sent, "space_sent", "trailing white space has been sent already"},
    {Refused::memory, "memory", "its record was dropped for lack of memory"},
    {Refused::worker_cannot, "worker_cannot", "no worker accepts a continuation"},
    {Refused::moved_too_often, "moved_too_often", "it has been moved too often"},
    {Refused::engine_died_twice, "engine_died_twice", "two engines have died with it"},
    {Refused::poison, "poison", "engines have died with requests of this body"},
    {Refused::budget, "budget", "too many requests are continued at present"},
});

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kRefusedWords.size(); ++i) {
    if (static_cast<std::size_t>(kRefusedWords[i].why) != i) {
      return false;
    }
  }
  return true;
}
static_assert(is_in_order());

constexpr RefusedWords const& words_of(Refused why) {
  return kRefusedWords[static_cast<std::size_t>(why)];
}
/// The label for metrics and events. The text is static.
constexpr std::string_view label(Refused why) {
  return words_of(why).label;
}

}  // namespace lastcall::router::continuation
