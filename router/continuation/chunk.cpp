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

std::uint64_t number_of(Members const& members, std::string_view name) {
  json::Value const* const value = find(members, name);
  return value != nullptr ? json::to_unsigned(*value).value_or(0) : 0;
}

std::optional<json::Value> text_of(Members const& members, std::string_view name) {
  json::Value const* const value = find(members, name);
  return value != nullptr && value->kind == Kind::string ? std::optional(*value) : std::nullopt;
}

bool is_empty_list(json::Value const& value) {
  Members members;
  std::vector<json::Value> elements;
  return value.kind == Kind::array && !json::read_array(value.text, elements) && elements.empty();
}

/// Whether a delta may contain this member without carrying content that is not recorded. Anything
/// else is odd.
bool is_known_in_delta(json::Member const& member) {
  constexpr std::array kKnown = std::to_array<std::string_view>(
      {"role", "content", "reasoning", "reasoning_content", "tool_calls"});
  return member.value.kind == Kind::null || is_empty_list(member.value) ||
         std::find(kKnown.begin(), kKnown.end(), member.key) != kKnown.end();
}

void read_delta(Chunk& chunk, json::Value const& delta) {
  if (delta.kind != Kind::object) {
    chunk.is_odd = true;
    return;
  }
  chunk.is_odd = !std::all_of(chunk.delta.begin(), chunk.delta.end(), is_known_in_delta);
  chunk.text = text_of(chunk.delta, "content");
  chunk.reasoning = text_of(chunk.delta, "reasoning");
  if (!chunk.reasoning || chunk.reasoning->text.empty()) {
    auto const other = text_of(chunk.delta, "reasoning_content");
    chunk.reasoning = other ? other : chunk.reasoning;
  }
  chunk.has_role = find_value(chunk.delta, "role") != nullptr;
  json::Value const* const calls = find_value(chunk.delta, "tool_calls");
  chunk.has_tool_calls = calls != nullptr && !is_empty_list(*calls);
}

Finish finish_of(json::Value const* reason) {
  if (reason == nullptr) {
    return Finish::none;
  }
  bool const is_failure = reason->text == "abort" || reason->text == "error";
  return is_failure ? Finish::failure : Finish::normal;
}

void read_choice(Chunk& chunk, Kind kind) {
  if (kind != Kind::object) {
    chunk.is_odd = true;
    return;
  }
  if (json::Value const* const delta = find(chunk.choice, "delta")) {
    read_delta(chunk, *delta);
  } else {
    chunk.text = text_of(chunk.choice, "text");
  }
  chunk.is_odd = chunk.is_odd || number_of(chunk.choice, "index") != 0;
  chunk.has_logprobs = find_value(chunk.choice, "logprobs") != nullptr;
  chunk.finish = finish_of(find_value(chunk.choice, "finish_reason"));
  if (json::Value const* const ids = find_value(chunk.choice, "token_ids")) {
    auto list = read_ids(*ids);
    chunk.is_odd = chunk.is_odd || !list;
    chunk.ids = list ? std::move(*list) : TokenIds{};
  }
}

void read_prompt_ids(Chunk& chunk) {
  json::Value const* ids = find_value(chunk.choice, "prompt_token_ids");
  ids = ids != nullptr ? ids : find_value(chunk.top, "prompt_token_ids");
  if (ids != nullptr) {
    chunk.prompt_ids = read_ids(*ids);
  }
}

void read_usage(Chunk& chunk, json::Inner const& usage) {
  if (usage.kind == Kind::object) {
    chunk.usage = Usage{number_of(*usage.members, "prompt_tokens"),
                        number_of(*usage.members, "completion_tokens")};
  }
}

}  // namespace

bool Chunk::has_output() const {
  bool const has_text = text && !text->text.empty();
  bool const has_reasoning = reasoning && !reasoning->text.empty();
  return has_text || has_reasoning || has_tool_calls || is_odd || finish != Finish::none;
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
  json::Value const* const list = find(chunk.top, "choices");
  if (find_value(chunk.top, "error") != nullptr || list == nullptr || list->kind != Kind::array) {
    chunk.choice.clear();
    chunk.delta.clear();
    return chunk;
  }
  chunk.kind = choices.elements == 0 ? Chunk::Kind::usage : Chunk::Kind::piece;
  if (choices.elements > 0) {
    read_choice(chunk, choices.kind);
    chunk.is_odd = chunk.is_odd || choices.elements > 1;
  }
  read_prompt_ids(chunk);
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
