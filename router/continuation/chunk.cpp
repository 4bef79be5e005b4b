#include "router/continuation/chunk.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "router/continuation/json_edits.hpp"

namespace lastcall::router::continuation {
namespace {

using json::Kind;
using Members = std::vector<json::Member>;

/// The values of the members that have these names, in the order of the names: null if there is
/// none, and the last one of several. One pass, because every event is read.
template <std::size_t N>
std::array<json::Value const*, N> values_of(Members const& members,
                                            std::array<std::string_view, N> const& names) {
  std::array<json::Value const*, N> values{};
  for (json::Member const& member : members) {
    for (std::size_t i = 0; i < N; ++i) {
      if (member.key == names[i]) {
        values[i] = &member.value;
        break;
      }
    }
  }
  return values;
}

/// Whether there is a value, and it is not `null`.
bool is_given(json::Value const* value) {
  return value != nullptr && value->kind != Kind::null;
}

std::uint64_t number_of(json::Value const* value) {
  return value != nullptr ? json::to_unsigned(*value).value_or(0) : 0;
}

std::optional<json::Value> text_of(json::Value const* value) {
  return value != nullptr && value->kind == Kind::string ? std::optional(*value) : std::nullopt;
}

bool is_empty_list(json::Value const& value) {
  Members members;
  std::vector<json::Value> elements;
  return value.kind == Kind::array && !json::read_array(value.text, elements) && elements.empty();
}

/// The members that a delta may have. Others may carry content that is not recorded, and are odd.
constexpr auto kInDelta = std::to_array<std::string_view>(
    {"role", "content", "reasoning", "reasoning_content", "tool_calls"});

bool is_known_in_delta(json::Member const& member) {
  return member.value.kind == Kind::null ||
         std::find(kInDelta.begin(), kInDelta.end(), member.key) != kInDelta.end() ||
         is_empty_list(member.value);
}

void read_delta(Chunk& chunk, json::Value const& delta) {
  if (delta.kind != Kind::object) {
    chunk.is_odd = true;
    return;
  }
  chunk.is_odd = !std::all_of(chunk.delta.begin(), chunk.delta.end(), is_known_in_delta);
  auto const [role, content, reasoning, other_reasoning, calls] = values_of(chunk.delta, kInDelta);
  chunk.text = text_of(content);
  chunk.reasoning = text_of(reasoning);
  if (!chunk.reasoning || chunk.reasoning->text.empty()) {
    auto const other = text_of(other_reasoning);
    chunk.reasoning = other ? other : chunk.reasoning;
  }
  chunk.has_role = is_given(role);
  chunk.has_tool_calls = is_given(calls) && !is_empty_list(*calls);
}

Finish finish_of(json::Value const* reason) {
  if (!is_given(reason)) {
    return Finish::none;
  }
  bool const is_failure = reason->text == "abort" || reason->text == "error";
  return is_failure ? Finish::failure : Finish::normal;
}

constexpr auto kInChunk = std::to_array<std::string_view>({"choices", "error", "prompt_token_ids"});
constexpr auto kInChoice = std::to_array<std::string_view>(
    {"delta", "text", "index", "logprobs", "finish_reason", "token_ids", "prompt_token_ids"});

/// Returns the prompt's ids, if the choice has them.
json::Value const* read_choice(Chunk& chunk) {
  auto const [delta, text, index, logprobs, finish_reason, ids, prompt_ids] =
      values_of(chunk.choice, kInChoice);
  if (delta != nullptr) {
    read_delta(chunk, *delta);
  } else {
    chunk.text = text_of(text);
  }
  chunk.is_odd = chunk.is_odd || number_of(index) != 0;
  chunk.has_logprobs = is_given(logprobs);
  chunk.finish = finish_of(finish_reason);
  if (is_given(ids)) {
    auto list = read_ids(*ids);
    chunk.is_odd = chunk.is_odd || !list;
    chunk.ids = list ? std::move(*list) : TokenIds{};
  }
  return prompt_ids;
}

void read_usage(Chunk& chunk, json::Inner const& usage) {
  if (usage.kind == Kind::object) {
    auto const [prompt, completion] = values_of(
        *usage.members, std::to_array<std::string_view>({"prompt_tokens", "completion_tokens"}));
    chunk.usage = Usage{number_of(prompt), number_of(completion)};
  }
}

}  // namespace

bool Chunk::has_words() const {
  bool const has_text = text && !text->text.empty();
  bool const has_reasoning = reasoning && !reasoning->text.empty();
  return has_text || has_reasoning || has_tool_calls;
}

bool Chunk::has_output() const {
  return has_words() || is_odd || finish != Finish::none;
}

Chunk read_chunk(std::string_view data) {
  Chunk chunk;
  if (data == "[DONE]") {
    chunk.kind = Chunk::Kind::done;
    return chunk;
  }
  using enum json::Inner::Place;
  Members usage;
  std::array delta{json::Inner{"delta", value, &chunk.delta}};
  std::array inner{json::Inner{"choices", first_element, &chunk.choice, delta},
                   json::Inner{"usage", value, &usage}};
  auto const& [choices, counts] = inner;
  if (json::read_object(data, chunk.top, inner)) {
    return {};
  }
  auto const [list, error, prompt_ids] = values_of(chunk.top, kInChunk);
  if (is_given(error) || list == nullptr || list->kind != Kind::array) {
    chunk.choice.clear();
    chunk.delta.clear();
    return chunk;
  }
  chunk.kind = choices.elements == 0 ? Chunk::Kind::usage : Chunk::Kind::piece;
  bool const has_choice = choices.kind == Kind::object;
  json::Value const* const of_choice = has_choice ? read_choice(chunk) : nullptr;
  chunk.is_odd = chunk.is_odd || choices.elements > (has_choice ? 1U : 0U);
  if (json::Value const* const ids = is_given(of_choice) ? of_choice : prompt_ids; is_given(ids)) {
    chunk.prompt_ids = read_ids(*ids);
  }
  read_usage(chunk, counts);
  return chunk;
}

std::optional<TokenIds> read_ids(json::Value const& list) {
  if (list.kind != Kind::array) {
    return std::nullopt;
  }
  TokenIds ids;
  char const* at = list.text.data() + 1;
  char const* const end = list.text.data() + list.text.size() - 1;
  auto const skip = [&at, end] {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n' || *at == ',')) {
      ++at;
    }
  };
  for (skip(); at != end; skip()) {  // it is known to be a list, so commas can be skipped
    TokenId id = 0;
    auto const [stop, problem] = std::from_chars(at, end, id);
    bool const is_whole =
        stop == end || std::string_view(" \t\r\n,").find(*stop) != std::string_view::npos;
    if (problem != std::errc{} || !is_whole) {
      return std::nullopt;
    }
    ids.push_back(id);
    at = stop;
  }
  return ids;
}

void append_ids(std::string& out, TokenIds const& ids) {
  std::array<char, std::numeric_limits<TokenId>::digits10 + 2> digits{};
  out += '[';
  for (std::size_t i = 0; i < ids.size(); ++i) {
    out.append(i == 0 ? "" : ",");
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), ids[i]);
    out.append(digits.data(), end.ptr);
  }
  out += ']';
}

}  // namespace lastcall::router::continuation
