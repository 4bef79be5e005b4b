#include "router/continuation/bodies.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json_reader.hpp"
#include "base/json_writer.hpp"
#include "router/continuation/json_edits.hpp"

namespace lastcall::router::continuation {
namespace {

using json::Kind;
using json::Value;
using Members = std::vector<json::Member>;

/// The changes of one body; a key that already exists gets the new value.
class Body {
 public:
  explicit Body(Request const& request)
      : request_(request), members_(request.members(room_)), edits_(request.body) {}
  Body(Body const&) = delete;
  Body& operator=(Body const&) = delete;

  void set(std::string_view key, std::string value) {
    if (Value const* const old = find(members_, key)) {
      edits_.replace(written(*old), value);
    } else {
      edits_.add(request_.body, members_.empty(), key, value);
    }
  }
  void lower(std::string_view key, std::uint64_t by) {
    Value const* const old = find_value(members_, key);
    if (auto const limit = old != nullptr ? json::to_unsigned(*old) : std::nullopt) {
      edits_.replace(old->text, std::to_string(*limit - std::min(*limit, by)));
    }
  }
  Members const& members() const { return members_; }
  JsonEdits& edits() { return edits_; }
  std::string text() { return edits_.text(); }

 private:
  Request const& request_;
  Members room_;
  Members const& members_;
  JsonEdits edits_;
};

void ask_for_usage(Body& body) {
  constexpr std::string_view kBoth = R"({"include_usage":true,"continuous_usage_stats":true})";
  Value const* const options = find_value(body.members(), "stream_options");
  Members inner;
  if (options == nullptr) {
    return body.set("stream_options", std::string(kBoth));
  }
  if (options->kind != Kind::object || json::read_object(options->text, inner, {}, kMostMembers)) {
    return;  // the engine refuses them
  }
  JsonEdits edits(options->text);
  bool is_empty = inner.empty();
  for (std::string_view const key : {"include_usage", "continuous_usage_stats"}) {
    if (Value const* const old = find(inner, key)) {
      edits.replace(written(*old), "true");
    } else {
      edits.add(options->text, is_empty, key, "true");
      is_empty = false;
    }
  }
  body.set("stream_options", edits.text());
}

void ask(Body& body, Request const& request, Mode mode) {
  if (mode == Mode::none) {
    return;
  }
  // Only vLLM is known to hold no text back for a stop string if the string is requested in the
  // output.
  bool const is_level = mode == Mode::ids_vllm || request.stops().empty();
  if (is_level && reports_ids(mode, request.endpoint) && request.by_ids == Refused::no &&
      !request.wants_ids) {
    body.set("return_token_ids", "true");
  }
  if (!request.wants_all_usage) {
    ask_for_usage(body);
  }
  if (mode == Mode::ids_vllm && request.by_ids == Refused::no && !request.stops().empty() &&
      !request.keeps_stop) {
    body.set("include_stop_str_in_output", "true");
  }
}

std::string escaped(std::string_view text) {
  std::string quoted;
  json::append_string(quoted, text);
  return quoted.substr(1, quoted.size() - 2);
}

/// `string` as it is written, with `text` appended.
void append_to_string(JsonEdits& edits, Value const& string, std::string_view text) {
  edits.replace({string.text.data() + string.text.size(), 0}, escaped(text));
}

void go_on_by_message(Body& body, Request const& request, std::string_view text) {
  Value const* const messages = find_value(body.members(), "messages");
  std::vector<Value> list;
  Members last;
  static_cast<void>(json::read_array(messages->text, list));
  static_cast<void>(json::read_object(list.back().text, last, {}, kMostMembers));
  Value const* const content = find(last, "content");
  if (request.continues_message && content != nullptr) {
    return append_to_string(body.edits(), *content, text);
  }
  std::string message = R"(,{"role":"assistant","content":")" + escaped(text) + "\"}";
  body.edits().replace({messages->text.data() + messages->text.size() - 1, 0}, message);
  body.set("continue_final_message", "true");
  body.set("add_generation_prompt", "false");
}

std::string as_text(TokenIds const& ids) {
  std::string text;
  append_ids(text, ids);
  return text;
}

void go_on_by_ids(Body& body, Request const& request, Mode mode, TokenIds const& ids) {
  if (request.endpoint == Endpoint::completions) {
    body.set("prompt", as_text(ids));
  } else if (mode == Mode::ids_sglang) {
    body.set("input_ids", as_text(ids));
  } else {
    body.set("kv_transfer_params", R"({"prompt_token_ids":)" + as_text(ids) + "}");
  }
}

}  // namespace

std::string warming_body(std::string_view body) {
  Members members;
  JsonEdits edits(body);
  if (json::read_object(body, members)) {
    return std::string(body);
  }
  bool has_limit = false;
  for (json::Member const& member : members) {
    bool const is_limit = member.key == "max_tokens" || member.key == "max_completion_tokens";
    has_limit = has_limit || is_limit;
    if (is_limit || member.key == "min_tokens") {
      edits.replace(written(member.value), is_limit ? "1" : "0");
    }
  }
  if (!has_limit) {
    edits.add(body, members.empty(), "max_tokens", "1");
  }
  return edits.text();
}

std::string first_body(Request const& request, Mode mode) {
  if (!request.is_readable) {
    return std::string(request.body);
  }
  Body body(request);
  if (!request.is_plain()) {
    ask(body, request, mode);
  }
  return body.text();
}

bool adds_to(Request const& request, Mode mode) {
  if (!request.is_readable || request.is_plain()) {
    return false;
  }
  Body body(request);
  ask(body, request, mode);
  return !body.edits().empty();
}

std::string continued_body(Request const& request, Mode mode, GoOn const& how) {
  Body body(request);
  if (how.way == Way::by_ids) {
    go_on_by_ids(body, request, mode, how.ids);
  } else if (request.endpoint == Endpoint::completions) {
    append_to_string(body.edits(), *find(body.members(), "prompt"), how.text);
  } else {
    go_on_by_message(body, request, how.text);
  }
  body.lower("max_completion_tokens", how.kept);
  body.lower("min_tokens", how.kept);
  if (find_value(body.members(), "max_tokens") != nullptr) {
    body.lower("max_tokens", how.kept);
  } else if (request.endpoint == Endpoint::completions && request.max_tokens) {
    body.set("max_tokens", std::to_string(*request.max_tokens - how.kept));
  }
  ask(body, request, mode);
  return body.text();
}

}  // namespace lastcall::router::continuation
