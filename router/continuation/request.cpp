#include "router/continuation/request.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "relay/http_text.hpp"
#include "router/continuation/json_edits.hpp"

namespace lastcall::router::continuation {
namespace {

using json::Kind;
using json::Value;
using Members = std::vector<json::Member>;

/// The number of tokens that completions generate by default.
constexpr Tokens kCompletionsDefault = 16;

/// Every event is searched for the stop strings. No engine is known whose users need this many.
constexpr std::size_t kMostStops = 256;
constexpr std::size_t kMostStopBytes = 4096;

/// Reads an array of a body whose elements have the usual sizes: the list takes a few times the
/// memory of the text, at most. Returns false if it has many more elements.
bool read_usual_array(std::string_view text, std::vector<Value>& elements) {
  constexpr std::size_t kSmall = 1000;
  return !json::read_array(text, elements, kSmall + text.size() / sizeof(Value));
}

bool is_set(Value const& value) {
  return value.kind != Kind::null && value.text != "[]" && value.text != "{}" &&
         !(value.kind == Kind::string && value.text.empty());
}
/// Engines read all of these as a boolean.
bool is_one_of(Value const& value, std::span<std::string_view const> words) {
  bool const is_word =
      value.kind == Kind::boolean || value.kind == Kind::number || value.kind == Kind::string;
  return is_word && std::any_of(words.begin(), words.end(), [&](std::string_view word) {
           return relay::http_text::same(value.text, word);
         });
}
bool is_yes(Value const& value) {
  static constexpr std::array<std::string_view, 7> kYes{"true", "1", "1.0", "on", "yes", "y", "t"};
  return is_one_of(value, kYes);
}
bool is_no(Value const& value) {
  static constexpr std::array<std::string_view, 7> kNo{"false", "0", "0.0", "off", "no", "n", "f"};
  return is_one_of(value, kNo);
}
bool is_not_zero(Value const& value) {
  return value.kind != Kind::null && json::to_double(value).value_or(1) != 0;
}
bool is_above_one(Value const& value) {
  return value.kind != Kind::null && json::to_unsigned(value).value_or(2) > 1;
}
bool is_no_text_format(Value const& value) {
  Members members;
  if (value.kind != Kind::object || json::read_object(value.text, members, {}, kMostMembers)) {
    return is_set(value);
  }
  Value const* const type = find(members, "type");
  return type == nullptr || type->text != "text";
}
bool is_forced(Value const& value) {
  return is_set(value) && value.text != "auto" && value.text != "none";
}

struct KeyRule {
  std::string_view key;
  bool (*holds)(Value const&);
  Refused by_ids;
  Refused by_text;
};

constexpr KeyRule both(std::string_view key, bool (*holds)(Value const&), Refused why) {
  return {key, holds, why, why};
}

constexpr std::array kKeyRules = std::to_array<KeyRule>({
    both("n", is_above_one, Refused::several_choices),
    both("best_of", is_above_one, Refused::several_choices),
    both("use_beam_search", is_yes, Refused::several_choices),
    both("echo", is_yes, Refused::echo),
    both("prompt_logprobs", is_set, Refused::echo),
    both("suffix", is_set, Refused::echo),
    both("prompt_embeds", is_set, Refused::prompt_kind),
    both("input_ids", is_set, Refused::prompt_kind),
    both("input_embeds", is_set, Refused::prompt_kind),
    both("kv_transfer_params", is_set, Refused::disaggregated),
    both("bootstrap_host", is_set, Refused::disaggregated),
    both("bootstrap_port", is_set, Refused::disaggregated),
    both("bootstrap_room", is_set, Refused::disaggregated),
    both("session_params", is_set, Refused::session),
    both("response_format", is_no_text_format, Refused::guided_output),
    both("structured_outputs", is_set, Refused::guided_output),
    both("guided_json", is_set, Refused::guided_output),
    both("guided_regex", is_set, Refused::guided_output),
    both("guided_choice", is_set, Refused::guided_output),
    both("guided_grammar", is_set, Refused::guided_output),
    both("structural_tag", is_set, Refused::guided_output),
    both("regex", is_set, Refused::guided_output),
    both("ebnf", is_set, Refused::guided_output),
    both("json_schema", is_set, Refused::guided_output),
    both("tool_choice", is_forced, Refused::forced_tool),
    both("function_call", is_forced, Refused::forced_tool),
    both("presence_penalty", is_not_zero, Refused::penalty),
    both("frequency_penalty", is_not_zero, Refused::penalty),
    both("bad_words", is_set, Refused::custom_sampling),
    both("logits_processors", is_set, Refused::custom_sampling),
    both("custom_logit_processor", is_set, Refused::custom_sampling),
    both("custom_params", is_set, Refused::custom_sampling),
    both("thinking_token_budget", is_set, Refused::custom_sampling),
    both("vllm_xargs", is_set, Refused::custom_sampling),
    both("stop_regex", is_set, Refused::stop_regex),
    both("truncate_prompt_tokens", is_set, Refused::truncation),
    both("include_reasoning", is_no, Refused::hidden_reasoning),
    both("stream_reasoning", is_no, Refused::hidden_reasoning),
    {"separate_reasoning", is_no, Refused::no, Refused::hidden_reasoning},
    both("modalities", is_set, Refused::media),
    both("audio", is_set, Refused::media),
});

void refuse(Request& request, Refused why) {
  request.by_ids = request.by_text = why;
}

bool has_key_twice(Members const& members) {
  std::unordered_set<std::string_view> seen;
  return !std::all_of(members.begin(), members.end(),
                      [&](json::Member const& m) { return seen.insert(m.key).second; });
}

bool flag(Members const& members, std::string_view name) {
  Value const* const value = find(members, name);
  return value != nullptr && is_yes(*value);
}

void read_stops(Request& request, Members const& members) {
  Value const* const stop = find_value(members, "stop");
  if (stop == nullptr) {
    return;
  }
  std::vector<Value> list;
  if (stop->kind != Kind::array) {
    list.push_back(*stop);
  } else if (!read_usual_array(stop->text, list)) {
    return refuse(request, Refused::unreadable);
  }
  std::vector<std::string> stops;
  std::size_t bytes = 0;
  for (Value const& one : list) {
    if (one.kind == Kind::string && !one.text.empty()) {
      stops.push_back(json::to_string(one));
      bytes += stops.back().size();
    }
  }
  if (stops.size() > kMostStops || bytes > kMostStopBytes) {
    return refuse(request, Refused::many_stops);
  }
  if (!stops.empty()) {
    request.stop_strings = std::make_unique<std::vector<std::string>>(std::move(stops));
  }
  // If stop strings are requested in the output, the texts of special tokens are included, too.
  // An engine that does not know SGLang's word for that would trim the stop strings.
  Value const* const skips = find(members, "skip_special_tokens");
  bool const shows_special =
      find_value(members, "stop_token_ids") != nullptr || (skips != nullptr && is_no(*skips));
  bool const is_held = shows_special || flag(members, "no_stop_trim");
  if (!request.stops().empty() && is_held && request.by_ids == Refused::no) {
    request.by_ids = Refused::stop_held;
  }
}

/// Reads a number of tokens. A number that would have to be guessed, such as 30.0, which some
/// engines accept, rules a continuation out; a negative number is no limit.
std::optional<Tokens> read_tokens(Request& request, Value const& value) {
  if (std::optional<std::uint64_t> const number = json::to_unsigned(value)) {
    return as_tokens(*number);
  }
  if (!value.text.starts_with('-')) {
    refuse(request, Refused::unreadable);
  }
  return std::nullopt;
}

void read_limits(Request& request, Members const& members) {
  bool const is_chat = request.endpoint == Endpoint::chat;
  Value const* const limit = find_value(members, "max_tokens");
  if (limit != nullptr) {
    request.max_tokens = read_tokens(request, *limit);
  } else if (!is_chat) {
    request.max_tokens = kCompletionsDefault;
  }
  // If both are given, vLLM uses this one and SGLang the other. With the larger one, no answer is
  // taken for complete before its engine says so.
  Value const* const newer = is_chat ? find_value(members, "max_completion_tokens") : nullptr;
  if (newer != nullptr) {
    MaybeTokens const own = read_tokens(request, *newer);
    bool const is_larger = own && (!request.max_tokens || *own > *request.max_tokens);
    request.max_tokens = is_larger ? own : request.max_tokens;
  }
  if (Value const* const value = find_value(members, "min_tokens")) {
    request.min_tokens = read_tokens(request, *value).value_or(0);
  }
  // Engines ignore stop strings before that, but the router does not know after which text.
  if (request.min_tokens > 0 && !request.stops().empty() && !request.is_plain()) {
    refuse(request, Refused::stop_after_minimum);
  }
}

/// The number of answers: `n` for each prompt.
void read_choices(Request& request, Members const& members) {
  Value const* const number = find_value(members, "n");
  std::uint64_t const each = number != nullptr ? json::to_unsigned(*number).value_or(0) : 1;
  Value const* const prompt = find_value(members, "prompt");
  std::vector<Value> prompts;
  bool const are_several = request.endpoint == Endpoint::completions && prompt != nullptr &&
                           prompt->kind == Kind::array && !request.has_prompt_ids;
  bool const are_too_many = are_several && !read_usual_array(prompt->text, prompts);
  std::uint64_t const all = are_too_many ? 0 : each * (are_several ? prompts.size() : 1);
  request.choices = all > 0 ? MaybeTokens(as_tokens(all)) : MaybeTokens();
}

void read_prompt(Request& request, Members const& members) {
  Value const* const prompt = find_value(members, "prompt");
  if (prompt != nullptr && prompt->kind == Kind::string) {
    return;
  }
  std::optional<TokenIds> const ids = prompt != nullptr ? read_ids(*prompt) : std::nullopt;
  request.has_prompt_ids = ids && !ids->empty();
  if (!request.has_prompt_ids) {
    return refuse(request, Refused::prompt_kind);
  }
  request.by_text = request.by_text == Refused::no ? Refused::prompt_kind : request.by_text;
}

bool is_text_part(Value const& part) {
  Members members;
  if (part.kind != Kind::object) {
    return part.kind == Kind::string;
  }
  static_cast<void>(json::read_object(part.text, members, {}, kMostMembers));
  Value const* const type = find(members, "type");
  return type != nullptr && type->text == "text";
}

bool is_text(Value const& content) {
  std::vector<Value> parts;
  return content.kind != Kind::array || (read_usual_array(content.text, parts) &&
                                         std::all_of(parts.begin(), parts.end(), is_text_part));
}

void read_messages(Request& request, Members const& members) {
  Value const* const messages = find_value(members, "messages");
  std::vector<Value> list;
  if (messages == nullptr || messages->kind != Kind::array ||
      !read_usual_array(messages->text, list) || list.empty()) {
    return refuse(request, Refused::prompt_kind);
  }
  Members last;
  for (Value const& message : list) {
    last.clear();
    if (message.kind != Kind::object || json::read_object(message.text, last, {}, kMostMembers)) {
      return refuse(request, Refused::prompt_kind);
    }
    Value const* const content = find(last, "content");
    if (content != nullptr && !is_text(*content) && request.by_ids == Refused::no) {
      request.by_ids = Refused::media;
    }
  }
  Value const* const role = find(last, "role");
  Value const* const content = find(last, "content");
  bool const is_assistants =
      role != nullptr && role->kind == Kind::string && json::to_string(*role) == "assistant";
  bool const can_go_on =
      request.continues_message && content != nullptr && content->kind == Kind::string;
  if (is_assistants && !can_go_on && request.by_text == Refused::no) {
    request.by_text = Refused::assistant_last;
  }
}

void apply_rules(Request& request, Members const& members, RequestRules const& rules) {
  for (json::Member const& member : members) {
    auto const* const rule = std::find_if(kKeyRules.begin(), kKeyRules.end(),
                                          [&](KeyRule const& r) { return r.key == member.key; });
    if (rule == kKeyRules.end() || !rule->holds(member.value) ||
        (rule->by_ids == Refused::penalty && rules.allows_penalties)) {
      continue;
    }
    request.by_ids = request.by_ids == Refused::no ? rule->by_ids : request.by_ids;
    request.by_text = request.by_text == Refused::no ? rule->by_text : request.by_text;
  }
}

/// The logprobs of completions report positions in the text: text that is sent back becomes part of
/// the prompt, and text that is held or trimmed is not what they refer to.
void read_logprobs(Request& request, Members const& members) {
  Value const* const value = find_value(members, "logprobs");
  request.wants_logprobs = value != nullptr && value->text != "false";
  if (!request.wants_logprobs || request.endpoint != Endpoint::completions) {
    return;
  }
  request.by_text = request.by_text == Refused::no ? Refused::logprobs : request.by_text;
  if (!request.stops().empty() && request.by_ids == Refused::no) {
    request.by_ids = Refused::logprobs;
  }
}

void read_flags(Request& request, Members const& members) {
  request.keeps_stop = flag(members, "include_stop_str_in_output") || flag(members, "no_stop_trim");
  request.wants_ids = flag(members, "return_token_ids");
  request.continues_message = flag(members, "continue_final_message");
  Value const* const tools = find(members, "tools");
  request.has_tools = tools != nullptr && is_set(*tools);
  Value const* const options = find_value(members, "stream_options");
  Members inner;
  if (options != nullptr && options->kind == Kind::object &&
      !json::read_object(options->text, inner, {}, kMostMembers)) {
    request.wants_usage = flag(inner, "include_usage");
    request.wants_all_usage = request.wants_usage && flag(inner, "continuous_usage_stats");
  }
}

}  // namespace

std::string_view name_of(Endpoint endpoint) {
  constexpr std::array<std::string_view, 3> kNames{"completions", "chat_completions", ""};
  return kNames[static_cast<std::size_t>(endpoint)];
}

Endpoint endpoint_of(std::string_view name) {
  for (Endpoint const known : {Endpoint::completions, Endpoint::chat}) {
    if (name == name_of(known)) {
      return known;
    }
  }
  return Endpoint::other;
}

std::vector<json::Member> const& Request::members(std::vector<json::Member>& room) const {
  if (kept_members) {
    return *kept_members;
  }
  room.clear();
  if (is_readable) {
    static_cast<void>(json::read_object(body, room, {}, kMostMembers));
  }
  return room;
}

std::optional<TokenIds> Request::prompt_ids() const {
  Members room;
  Value const* const prompt = has_prompt_ids ? find_value(members(room), "prompt") : nullptr;
  return prompt != nullptr ? read_ids(*prompt) : std::nullopt;
}

Request read_request(Endpoint endpoint, std::string_view body, RequestRules const& rules) {
  Request request;
  request.endpoint = endpoint;
  request.body = body;
  if (endpoint == Endpoint::other) {
    refuse(request, Refused::endpoint);
    return request;
  }
  Members members;
  bool const is_bad = json::read_object(body, members, {}, kMostMembers).has_value();
  bool const has_odd_key = std::any_of(members.begin(), members.end(),
                                       [](json::Member const& m) { return m.key_escaped; });
  if (is_bad || has_odd_key || has_key_twice(members)) {
    refuse(request, is_bad || has_odd_key ? Refused::unreadable : Refused::duplicate_keys);
    return request;
  }
  request.is_readable = true;
  if (rules.is_forbidden || !flag(members, "stream")) {
    refuse(request, rules.is_forbidden ? Refused::forbidden : Refused::not_streamed);
  }
  apply_rules(request, members, rules);
  read_flags(request, members);
  read_stops(request, members);
  read_logprobs(request, members);
  read_limits(request, members);
  if (endpoint == Endpoint::chat) {
    read_messages(request, members);
  } else {
    read_prompt(request, members);
  }
  read_choices(request, members);
  request.kept_members = std::make_unique<Members>(std::move(members));
  return request;
}

}  // namespace lastcall::router::continuation
