#include "router/continuation/client_stream.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_writer.hpp"

namespace lastcall::router::continuation {
namespace {

using Members = std::vector<json::Member>;

std::string as_string(std::string_view text) {
  std::string quoted;
  json::append_string(quoted, text);
  return quoted;
}

std::string_view written_or(Members const& members, std::string_view name,
                            std::string_view otherwise) {
  json::Value const* const value = find(members, name);
  return value != nullptr ? written(*value) : otherwise;
}

bool is_empty(std::optional<json::Value> const& own, std::optional<std::string> const& changed) {
  return changed ? changed->empty() : !own || own->text.empty();
}

/// Offsets in the logprobs of completions count from the start of the answer, but a leg's own
/// prompt contains this many characters of the answer.
void change_offsets(JsonEdits& edits, Chunk const& chunk, std::uint64_t characters) {
  json::Value const* const logprobs = find_value(chunk.choice, "logprobs");
  Members members;
  if (characters == 0 || logprobs == nullptr || logprobs->kind != json::Kind::object ||
      json::read_object(logprobs->text, members)) {
    return;
  }
  json::Value const* const offsets = find_value(members, "text_offset");
  std::vector<json::Value> list;
  if (offsets == nullptr || json::read_array(offsets->text, list)) {
    return;
  }
  for (json::Value const& offset : list) {
    if (auto const number = json::to_unsigned(offset)) {
      edits.replace(offset.text, std::to_string(*number + characters));
    }
  }
}

std::string_view usual_object(Endpoint endpoint) {
  return endpoint == Endpoint::chat ? "\"chat.completion.chunk\"" : "\"text_completion\"";
}

/// The values at the beginning of every event, each as it is written. `object` is empty if it is
/// the usual one of its endpoint.
struct Head {
  explicit Head(std::string_view lines) {
    for (std::string_view* const value : {&id, &object, &created, &model}) {
      *value = lines.substr(0, lines.find('\n'));  // an event has its data in one line
      lines.remove_prefix(std::min(lines.size(), value->size() + 1));
    }
  }
  /// The first part of an object: everything before the choices.
  std::string text(Endpoint endpoint) const {
    std::string text = "{\"id\":";
    text.append(id).append(",\"object\":");
    text.append(object.empty() ? usual_object(endpoint) : object);
    text.append(",\"created\":").append(created).append(",\"model\":").append(model);
    return text;
  }

  std::string_view id;
  std::string_view object;
  std::string_view created;
  std::string_view model;
};

void change_head(JsonEdits& edits, Chunk const& chunk, Head const& head) {
  std::array<std::pair<std::string_view, std::string_view>, 3> const values{
      {{"id", head.id}, {"created", head.created}, {"model", head.model}}};
  for (auto const& [key, value] : values) {
    json::Value const* const own = find(chunk.top, key);
    if (own != nullptr && written(*own) != value) {
      edits.replace(written(*own), value);
    }
  }
}

}  // namespace

void ClientStream::learn(Chunk const& chunk) {
  if (!has_begun()) {
    std::string_view const usual = usual_object(request_.endpoint);
    std::string_view const object = written_or(chunk.top, "object", usual);
    std::string lines;
    lines.append(written_or(chunk.top, "id", "\"\"")).append("\n");
    lines.append(object == usual ? "" : object);
    lines.append("\n").append(written_or(chunk.top, "created", "0")).append("\n");
    lines.append(written_or(chunk.top, "model", "\"\""));
    head_ = CompactText(lines);
  }
  says_reasoning_content_ =
      says_reasoning_content_ || find(chunk.delta, "reasoning_content") != nullptr;
}

void ClientStream::change_usage(JsonEdits& edits, Chunk const& chunk) const {
  Before const* const before = leg_.before.get();
  if (!chunk.usage || !leg_.is_later || before == nullptr ||
      (before->kept == 0 && !before->prompt)) {
    return;
  }
  std::uint64_t const prompt = before->prompt.value_or(chunk.usage->prompt);
  std::uint64_t const completion = before->kept + chunk.usage->completion;
  std::array<std::pair<std::string_view, std::uint64_t>, 3> const values{
      {{"prompt_tokens", prompt},
       {"completion_tokens", completion},
       {"total_tokens", prompt + completion}}};
  for (auto const& [key, value] : values) {
    if (json::Value const* const own = find(chunk.counts, key)) {
      edits.replace(written(*own), std::to_string(value));
    }
  }
  if (json::Value const* const details = find(chunk.counts, "prompt_tokens_details")) {
    edits.replace(written(*details), "null");  // it would report how much was cached
  }
}

void ClientStream::change_choice(JsonEdits& edits, Chunk const& chunk, Texts const& texts) const {
  bool const takes_ids = leg_.asks_more && !request_.wants_ids;
  edits.remove(chunk.choice, [&](json::Member const& m) {
    return (takes_ids && m.key == "token_ids") ||
           ((takes_ids || leg_.is_later) && m.key == "prompt_token_ids");
  });
  // An answer of which another choice has begun does not begin again.
  bool const drops_role = has_role_ && leg_.is_later && !chunk.is_odd;
  edits.remove(chunk.delta, [&](json::Member const& m) { return drops_role && m.key == "role"; });
  auto const change = [&edits](json::Value const& own, std::optional<std::string> const& changed) {
    std::string room;
    if (changed && json::unescaped(own, room) != *changed) {
      edits.replace_by_string(written(own), *changed);
    }
  };
  if (chunk.text) {
    change(*chunk.text, texts.content);
  }
  if (!texts.reasoning) {
    return;
  }
  // Some versions of vLLM send the same text under both names.
  for (std::string_view const name : {"reasoning", "reasoning_content"}) {
    json::Value const* const own = find_value(chunk.delta, name);
    if (own != nullptr && own->kind == json::Kind::string) {
      change(*own, texts.reasoning);
    }
  }
}

void ClientStream::add_early_ids(JsonEdits& edits, Chunk const& chunk) {
  if (!leg_.before || leg_.before->early_ids.empty() || !request_.wants_ids) {
    return;
  }
  json::Value const* const ids = find_value(chunk.choice, "token_ids");
  if (ids == nullptr) {
    return;
  }
  TokenIds all = std::exchange(leg_.before->early_ids, {});
  all.insert(all.end(), chunk.ids.begin(), chunk.ids.end());
  std::string list;
  append_ids(list, all);
  edits.replace(written(*ids), list);
}

/// Whether nothing in the event is for the client.
bool ClientStream::is_left_out(Chunk const& chunk, Texts const& texts) const {
  bool const shows_role = chunk.has_role && !(has_role_ && leg_.is_later);
  bool const shows_usage = chunk.usage && request_.wants_all_usage;
  bool const is_ours = leg_.asks_more || leg_.is_later || texts.content || texts.reasoning;
  return is_ours && !shows_role && !shows_usage && !chunk.has_logprobs && !chunk.has_tool_calls &&
         !chunk.is_odd && chunk.finish == Finish::none && is_empty(chunk.text, texts.content) &&
         is_empty(chunk.reasoning, texts.reasoning) && !(request_.wants_ids && !chunk.ids.empty());
}

void ClientStream::emit(Event const& event, JsonEdits& edits, std::string& out) {
  ++events_;
  if (leg_.is_later) {  // only its data: `id:` and `retry:` are those of the first leg
    out.append("data: ");
    edits.append_to(out);
    out.append("\n\n");
    return;
  }
  if (edits.empty()) {
    out.append(event.bytes);
    return;
  }
  auto const at = static_cast<std::size_t>(event.data.data() - event.bytes.data());
  out.append(event.bytes.substr(0, at));
  edits.append_to(out);
  out.append(event.bytes.substr(at + event.data.size()));
}

void ClientStream::piece(Event const& event, Chunk const& chunk, Texts const& texts,
                         std::string& out) {
  learn(chunk);
  if (is_left_out(chunk, texts)) {
    return;
  }
  thread_local JsonEdits edits;
  edits.begin(event.data);
  if (leg_.is_later) {
    change_head(edits, chunk, Head(head_.view()));
  }
  // Otherwise the event stays as it came, and its members need not be searched.
  if (leg_.asks_more || leg_.is_later || leg_.before || texts.content || texts.reasoning) {
    bool const takes_ids = leg_.asks_more && !request_.wants_ids;
    bool const takes_usage = leg_.asks_more && !request_.wants_all_usage;
    edits.remove(chunk.top, [&](json::Member const& m) {
      return (takes_usage && m.key == "usage") ||
             ((takes_ids || leg_.is_later) && m.key == "prompt_token_ids");
    });
    if (!takes_usage) {
      change_usage(edits, chunk);
    }
    change_choice(edits, chunk, texts);
    if (request_.endpoint == Endpoint::completions && leg_.before) {
      change_offsets(edits, chunk, leg_.before->characters);
    }
    add_early_ids(edits, chunk);
  }
  has_role_ = has_role_ || chunk.has_role;
  finishes_ += chunk.finish == Finish::normal ? 1 : 0;
  emit(event, edits, out);
}

void ClientStream::usage(Event const& event, Chunk const& chunk, std::string& out) {
  if (leg_.asks_more && !request_.wants_usage) {
    return;
  }
  learn(chunk);
  JsonEdits edits(event.data);
  if (leg_.is_later) {
    change_head(edits, chunk, Head(head_.view()));
  }
  change_usage(edits, chunk);
  has_usage_ = has_usage_ || chunk.usage.has_value();
  emit(event, edits, out);
}

void ClientStream::raw(std::string_view bytes, bool is_event, std::string& out) {
  events_ += is_event ? 1 : 0;
  out.append(bytes);
}

void ClientStream::append_own(std::string const& json, std::string& out) {
  ++events_;
  out.append("data: ").append(json).append("\n\n");
}

void ClientStream::text(std::string_view content, std::string_view reasoning, std::string& out) {
  std::string choice = R"(,"choices":[{"index":0,)";
  if (request_.endpoint == Endpoint::chat) {
    bool const is_content = !content.empty();
    std::string_view const reasons = says_reasoning_content_ ? "reasoning_content" : "reasoning";
    choice += R"("delta":{")" + std::string(is_content ? "content" : reasons) +
              "\":" + as_string(is_content ? content : reasoning) + "}";
  } else {
    choice += "\"text\":" + as_string(content);
  }
  append_own(Head(head_.view()).text(request_.endpoint) + choice +
                 R"(,"logprobs":null,"finish_reason":null}]})",
             out);
}

void ClientStream::finish(std::string_view reason, std::string& out) {
  bool const is_chat = request_.endpoint == Endpoint::chat;
  std::string choice = R"(,"choices":[{"index":0,)";
  choice += is_chat ? R"("delta":{})" : R"("text":"")";
  choice += R"(,"logprobs":null,"finish_reason":)" + as_string(reason);
  ++finishes_;
  append_own(Head(head_.view()).text(request_.endpoint) + choice + "}]}", out);
}

void ClientStream::own_usage(std::optional<std::uint64_t> prompt,
                             std::optional<std::uint64_t> completion, std::string& out) {
  if (!request_.wants_usage || has_usage_ || !prompt || !completion) {
    return;
  }
  has_usage_ = true;
  append_own(Head(head_.view()).text(request_.endpoint) +
                 R"(,"choices":[],"usage":{"prompt_tokens":)" + std::to_string(*prompt) +
                 ",\"total_tokens\":" + std::to_string(*prompt + *completion) +
                 ",\"completion_tokens\":" + std::to_string(*completion) + "}}",
             out);
}

void ClientStream::done(std::string& out) {
  append_own("[DONE]", out);
}

}  // namespace lastcall::router::continuation
