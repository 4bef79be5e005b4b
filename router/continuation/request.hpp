// A client's request, as far as it matters for its continuation.
//
// Rules:
//  1. Its body is kept unchanged; the results are views into it.
//  2. A table of keys decides once whether the request can be continued by token ids, and whether
//     by text; the part of the answer that has been sent decides the rest (continuation.hpp).
//
// Pure, no thread rule. Source: docs/continuation.md; OpenAI's request objects and what vLLM and
// SGLang add to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "router/continuation/chunk.hpp"
#include "router/continuation/refused.hpp"
#include "router/continuation/token_count.hpp"

namespace lastcall::router::continuation {

/// A body with more members is no request that any engine knows. Lists of more would take more time
/// and memory than all the rest of a request.
inline constexpr std::size_t kMostMembers = 1000;

enum class Endpoint : std::uint8_t { completions, chat, other };

/// `name` is the name in relay::EndpointName.
Endpoint endpoint_of(std::string_view name);
/// The same name as in the labels of metrics; empty for other endpoints.
std::string_view name_of(Endpoint endpoint);

struct Request {
  std::string_view body;
  Endpoint endpoint = Endpoint::other;
  bool is_readable = false;  // no key occurs twice, and none is escaped

  Refused by_ids = Refused::no;
  Refused by_text = Refused::no;

  bool keeps_stop = false;       // include_stop_str_in_output, or SGLang's no_stop_trim
  bool wants_ids = false;        // return_token_ids
  bool wants_usage = false;      // stream_options.include_usage
  bool wants_all_usage = false;  // stream_options.continuous_usage_stats
  bool has_tools = false;
  bool wants_logprobs = false;
  bool continues_message = false;  // continue_final_message
  bool has_prompt_ids = false;
  /// The number of answers in the stream, which end one by one; absent if it is unknown.
  MaybeTokens choices;
  MaybeTokens max_tokens;
  Tokens min_tokens = 0;
  std::unique_ptr<std::vector<std::string>> stop_strings;   // null if it has none
  std::unique_ptr<std::vector<json::Member>> kept_members;  // null after forget_members()
  std::span<std::string const> stops() const {
    return stop_strings ? std::span<std::string const>(*stop_strings)
                        : std::span<std::string const>();
  }
  /// The members of its body; empty if it is unreadable. If they are not kept, they are read into
  /// `room`.
  std::vector<json::Member> const& members(std::vector<json::Member>& room) const;
  /// The prompt, if it is given as ids.
  std::optional<TokenIds> prompt_ids() const;
  /// Releases the members. They are read again when they are needed, which is rare after the first
  /// leg has begun.
  void forget_members() { kept_members.reset(); }
  /// Whether it can never be continued, whatever is sent.
  bool is_plain() const { return by_ids != Refused::no && by_text != Refused::no; }
  /// Whether it has a limit on tokens that a continuation must lower.
  bool counts_tokens() const { return max_tokens.has_value() || min_tokens > 0; }
};

struct RequestRules {
  bool is_forbidden = false;      // by a header
  bool allows_penalties = false;  // presence and frequency penalties may restart at the seam
};

Request read_request(Endpoint endpoint, std::string_view body, RequestRules const& rules);

}  // namespace lastcall::router::continuation
