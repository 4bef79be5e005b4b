// Events as vLLM writes them, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "router/continuation/chunk.hpp"
#include "router/continuation/continuation.hpp"

namespace lastcall::router::continuation {

struct Say {
  std::string id = "a";
  bool is_chat = true;
  std::string text{};
  std::string reasoning{};
  bool role = false;
  TokenIds ids{};
  std::string finish{};  // empty: none
  std::string extra{};   // members of the chunk, each with a comma before it
  std::string inner{};   // of the choice
};

inline std::string as_json(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

inline std::string event(std::string const& data) {
  return "data: " + data + "\n\n";
}

inline std::string list(TokenIds const& ids) {
  std::string out;
  append_ids(out, ids);
  return out;
}

inline std::string chunk(Say const& say) {
  std::string out = R"({"id":")" + say.id + R"(","object":"x","created":7,"model":"m","choices":[)";
  out += R"({"index":0,)";
  if (say.is_chat) {
    out += R"("delta":{)" + std::string(say.role ? R"("role":"assistant",)" : "");
    out += say.reasoning.empty() ? "" : "\"reasoning\":" + as_json(say.reasoning) + ",";
    out += "\"content\":" + as_json(say.text) + "}";
  } else {
    out += "\"text\":" + as_json(say.text);
  }
  bool const has_logprobs = say.inner.find("logprobs") != std::string::npos;
  out += has_logprobs ? R"(,"finish_reason":)" : R"(,"logprobs":null,"finish_reason":)";
  out += say.finish.empty() ? "null" : as_json(say.finish);
  out += say.ids.empty() ? "" : ",\"token_ids\":" + list(say.ids);
  return event(out + say.inner + "}]" + say.extra + "}");
}

inline std::string prompt(TokenIds const& ids) {
  return ",\"prompt_token_ids\":" + list(ids);
}

inline std::string usage(int prompt_tokens, int completion) {
  return ",\"usage\":{\"prompt_tokens\":" + std::to_string(prompt_tokens) +
         ",\"total_tokens\":" + std::to_string(prompt_tokens + completion) +
         ",\"completion_tokens\":" + std::to_string(completion) + "}";
}

inline std::string usage_event(std::string const& id, int prompt_tokens, int completion) {
  return event(R"({"id":")" + id + R"(","object":"x","created":7,"model":"m","choices":[])" +
               usage(prompt_tokens, completion) + "}");
}

inline std::string const kDone = "data: [DONE]\n\n";

/// What a client has of a stream.
struct Client {
  std::string text;
  std::string reasoning;
  int roles = 0;
  int finishes = 0;
  int dones = 0;
  std::vector<std::string> ids;
  std::vector<Usage> usages;
};

inline Client client_of(std::string_view stream) {
  Client client;
  EventReader reader;
  while (auto const event = reader.next(stream)) {
    if (event->kind != Event::Kind::data) {
      continue;
    }
    Chunk const chunk = read_chunk(event->data);
    client.dones += chunk.kind == Chunk::Kind::done ? 1 : 0;
    client.roles += chunk.has_role ? 1 : 0;
    client.finishes += chunk.finish == Finish::none ? 0 : 1;
    client.text += chunk.text ? json::to_string(*chunk.text) : "";
    client.reasoning += chunk.reasoning ? json::to_string(*chunk.reasoning) : "";
    for (json::Member const& member : chunk.top) {
      if (member.key == "id") {
        client.ids.emplace_back(member.value.text);
      }
    }
    if (chunk.usage) {
      client.usages.push_back(*chunk.usage);
    }
  }
  return client;
}

}  // namespace lastcall::router::continuation
