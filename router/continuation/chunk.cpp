#include "router/continuation/chunk.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "router/continuation/chunk_reader.hpp"
#include "router/continuation/json_edits.hpp"

namespace lastcall::router::continuation {
namespace {

using json::Kind;
using Members = std::vector<json::Member>;

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

/// Whether it is certain that a member of a delta has no content, which would not be recorded.
bool is_nothing(json::Value const& value) {
  return value.kind == Kind::null || is_empty_list(value);
}

/// The last one of several members with the same name counts, here and below.
void read_delta(Chunk& chunk, json::Value const& delta) {
  if (delta.kind != Kind::object) {
    chunk.is_odd = true;
    return;
  }
  json::Value const* reasoning = nullptr;
  json::Value const* other_reasoning = nullptr;
  for (json::Member const& member : chunk.delta) {
    if (member.key == "content") {
      chunk.text = text_of(&member.value);
    } else if (member.key == "role") {
      chunk.has_role = is_given(&member.value);
    } else if (member.key == "reasoning") {
      reasoning = &member.value;
    } else if (member.key == "reasoning_content") {
      other_reasoning = &member.value;
    } else if (member.key == "tool_calls") {
      chunk.has_tool_calls = !is_nothing(member.value);
    } else {
      chunk.is_odd = chunk.is_odd || !is_nothing(member.value);
    }
  }
  chunk.reasoning = text_of(reasoning);
  if (!chunk.reasoning || chunk.reasoning->text.empty()) {
    auto const other = text_of(other_reasoning);
    chunk.reasoning = other ? other : chunk.reasoning;
  }
}

Finish finish_of(json::Value const& reason) {
  bool const is_empty = reason.kind == Kind::string && reason.text.empty();
  if (reason.kind == Kind::null || is_empty) {  // some servers send "" in each event
    return Finish::none;
  }
  bool const is_failure = reason.text == "abort" || reason.text == "error";
  return is_failure ? Finish::failure : Finish::normal;
}

/// Returns the prompt's ids, if the choice has them.
json::Value const* read_choice(Chunk& chunk) {
  json::Value const* delta = nullptr;
  json::Value const* text = nullptr;
  json::Value const* index = nullptr;
  json::Value const* ids = nullptr;
  json::Value const* prompt_ids = nullptr;
  for (json::Member const& member : chunk.choice) {
    if (member.key == "delta") {
      delta = &member.value;
    } else if (member.key == "text") {
      text = &member.value;
    } else if (member.key == "index") {
      index = &member.value;
    } else if (member.key == "logprobs") {
      chunk.has_logprobs = is_given(&member.value);
    } else if (member.key == "finish_reason") {
      chunk.finish = finish_of(member.value);
    } else if (member.key == "token_ids") {
      ids = &member.value;
    } else if (member.key == "prompt_token_ids") {
      prompt_ids = &member.value;
    }
  }
  if (delta != nullptr) {
    read_delta(chunk, *delta);
  } else {
    chunk.text = text_of(text);
  }
  chunk.is_odd = chunk.is_odd || number_of(index) != 0;
  if (is_given(ids)) {
    chunk.is_odd = !read_ids(*ids, chunk.ids) || chunk.is_odd;
  }
  return prompt_ids;
}

void read_usage(Chunk& chunk) {
  Usage& usage = chunk.usage.emplace();
  for (json::Member const& member : chunk.counts) {
    if (member.key == "prompt_tokens") {
      usage.prompt = number_of(&member.value);
    } else if (member.key == "completion_tokens") {
      usage.completion = number_of(&member.value);
    }
  }
}

/// Makes the list empty. Only the room that most events need is kept for the next one.
template <class T>
void clear(std::vector<T>& list) {
  constexpr std::size_t kUsual = 64;
  list.clear();
  if (list.capacity() > kUsual) {
    std::vector<T>().swap(list);
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

bool ChunkReader::Known::follow(std::string_view data) {
  if (layout.follow(data)) {
    static_cast<Content&>(chunk) = {};
    clear(chunk.ids);
    return true;
  }
  return false;
}

bool ChunkReader::Known::list_members(std::string_view data) {
  layout.forget();
  static_cast<Content&>(chunk) = {};
  clear(chunk.ids);
  for (auto* const list : {&chunk.top, &chunk.choice, &chunk.delta, &chunk.counts}) {
    clear(*list);
  }
  using enum json::Inner::Place;
  std::array delta{json::Inner{"delta", value, &chunk.delta}};
  std::array inner{json::Inner{"choices", first_element, &chunk.choice, delta},
                   json::Inner{"usage", value, &chunk.counts}};
  if (json::read_object(data, chunk.top, inner)) {
    return false;
  }
  auto const& [of_choices, of_usage] = inner;
  choices = of_choices.elements;
  choice_kind = of_choices.kind;
  usage_kind = of_usage.kind;
  layout.learn(data, chunk.top, inner);
  return true;
}

void ChunkReader::Known::understand() {
  json::Value const* list = nullptr;
  json::Value const* prompt_ids = nullptr;
  bool is_error = false;
  for (json::Member const& member : chunk.top) {
    if (member.key == "choices") {
      list = &member.value;
    } else if (member.key == "prompt_token_ids") {
      prompt_ids = &member.value;
    } else if (member.key == "error") {
      is_error = is_given(&member.value);
    }
  }
  if (is_error || list == nullptr || list->kind != Kind::array) {
    empty(Chunk::Kind::error);
    return;
  }
  chunk.kind = choices == 0 ? Chunk::Kind::usage : Chunk::Kind::piece;
  bool const has_choice = choice_kind == Kind::object;
  json::Value const* const of_choice = has_choice ? read_choice(chunk) : nullptr;
  chunk.is_odd = chunk.is_odd || choices > (has_choice ? 1U : 0U);
  if (json::Value const* const ids = is_given(of_choice) ? of_choice : prompt_ids; is_given(ids)) {
    chunk.prompt_ids = read_ids(*ids);
  }
  if (usage_kind == Kind::object) {
    read_usage(chunk);
  }
}

void ChunkReader::Known::empty(Chunk::Kind kind) {
  layout.forget();
  chunk = {};
  chunk.kind = kind;
}

Chunk const& ChunkReader::read(std::string_view data) {
  bool is_listed = known_[last_].follow(data);
  if (!is_listed) {
    last_ = 1 - last_;
    is_listed = known_[last_].follow(data);
  }
  Known& known = known_[last_];
  if (!is_listed && data == "[DONE]") {
    known.empty(Chunk::Kind::done);
  } else if (is_listed || known.list_members(data)) {
    known.understand();
  } else {
    known.empty(Chunk::Kind::error);
  }
  return known.chunk;
}

void ChunkReader::forget_large(std::string_view data) {
  constexpr std::size_t kLarge = std::size_t{16} * 1024;
  if (data.size() > kLarge) {
    known_[last_].empty(Chunk::Kind::done);
  }
}

Chunk read_chunk(std::string_view data) {
  ChunkReader reader;
  return reader.read(data);
}

bool read_ids(json::Value const& list, TokenIds& ids) {
  ids.clear();
  if (list.kind != Kind::array) {
    return false;
  }
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
      ids.clear();
      return false;
    }
    ids.push_back(id);
    at = stop;
  }
  return true;
}

std::optional<TokenIds> read_ids(json::Value const& list) {
  TokenIds ids;
  return read_ids(list, ids) ? std::optional(std::move(ids)) : std::nullopt;
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
