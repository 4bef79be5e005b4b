// The content of one event of a generation: a chunk of /v1/completions or /v1/chat/completions.
//
// Rules:
//  1. Nothing is copied except ids: values are views into the data, so that an edit can replace
//     them.
//  2. Content that is not understood is reported as such (`is_odd`) and never guessed; a stream
//     with such content is relayed, but not continued.
//  3. Ids are read where vLLM and SGLang write them: `token_ids` of the choice, `prompt_token_ids`
//     of the choice or of the chunk.
//
// Pure, no thread rule. Source: OpenAI's chunk objects; protocol.py of vLLM and SGLang; facts in
// the table of docs/continuation.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"

namespace lastcall::router::continuation {

using TokenId = std::uint32_t;
using TokenIds = std::vector<TokenId>;

enum class Finish : std::uint8_t {
  none,
  normal,   // stop, length, tool_calls, ...: the engine has sent everything
  failure,  // abort, error: the engine gave up, although this looks like an end
};

struct Usage {
  std::uint64_t prompt = 0;
  std::uint64_t completion = 0;
};

/// What an event contains, without the lists whose room is used again.
struct Content {
  enum class Kind : std::uint8_t {
    done,   // [DONE]
    error,  // an error object, or an object that is not part of a generation
    piece,  // has a choice
    usage,  // has no choice
  };
  Kind kind = Kind::error;
  bool is_odd = false;  // several choices, a choice other than 0, or an unknown kind of delta

  std::optional<json::Value> text;       // content or text
  std::optional<json::Value> reasoning;  // `reasoning` or `reasoning_content`
  bool has_role = false;
  bool has_tool_calls = false;
  bool has_logprobs = false;
  Finish finish = Finish::none;

  std::optional<TokenIds> prompt_ids;
  std::optional<Usage> usage;
};

struct Chunk : Content {
  // These are views. The lists hold all members of their objects; they are empty if there is none.
  std::vector<json::Member> top;
  std::vector<json::Member> choice;
  std::vector<json::Member> delta;   // only in a chat
  std::vector<json::Member> counts;  // those of the usage

  TokenIds ids;

  /// Whether it contains a part of the answer itself.
  bool has_words() const;
  /// Whether it contains anything for the client besides the role.
  bool has_output() const;
};

/// Reads one event alone; chunk_reader.hpp reads those of a stream.
Chunk read_chunk(std::string_view data);

/// Reads a list of token ids; absent if the value is not such a list.
std::optional<TokenIds> read_ids(json::Value const& list);
/// Replaces `ids`. Returns false, and leaves none, if the value is not such a list.
bool read_ids(json::Value const& list, TokenIds& ids);
void append_ids(std::string& out, TokenIds const& ids);

}  // namespace lastcall::router::continuation
