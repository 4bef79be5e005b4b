#include "tests/simulation/router/engine_model.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/json_reader.hpp"
#include "base/json_writer.hpp"
#include "router/continuation/json_edits.hpp"
#include "router/continuation/text_gate.hpp"

namespace lastcall::router::simulation {

std::size_t pending(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    auto const byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte >= 0xC0) {
      std::size_t const size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
      return back < size ? back : 0;
    }
    if (byte < 0x80) {
      return 0;
    }
  }
  return 0;
}

namespace {

using continuation::append_ids;
using continuation::find_value;
using Members = std::vector<json::Member>;

constexpr continuation::TokenId kEnd = 1;
constexpr continuation::TokenId kThink = 2;  // reasoning ends
constexpr continuation::TokenId kWords = 300;
constexpr std::array kTexts =
    std::to_array<std::string_view>({" a", "the", "E", "N", "D", "EN", " ", "\n", " \n", "<",
                                     "x\"y", "\\", "word", " the", "ND", ">"});
/// The client's prompt: its text is a secret that must reach no client.
TokenIds const kPrompt{300, 301, 312, 313, 300, 312, 313, 301, 312, 313, 312, 313};

std::string bytes_of(continuation::TokenId id) {
  if (id > kThink && id < 0x100) {
    return std::string(1, static_cast<char>(id));
  }
  return id >= kWords ? std::string(kTexts[id - kWords]) : std::string();
}

std::string text_of(TokenIds const& ids) {
  std::string text;
  for (auto const id : ids) {
    text += bytes_of(id);
  }
  return text;
}

/// Merges differ from those of the ids that were sampled: the longest word first.
TokenIds tokens_of(std::string_view text) {
  TokenIds ids;
  while (!text.empty()) {
    std::size_t best = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      if (kTexts[i].size() > size && text.starts_with(kTexts[i])) {
        best = i;
        size = kTexts[i].size();
      }
    }
    ids.push_back(size > 0 ? static_cast<continuation::TokenId>(kWords + best)
                           : static_cast<unsigned char>(text.front()));
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return ids;
}

continuation::TokenId sample(Case const& what, TokenIds const& answer, Dice& dice) {
  std::string const text = text_of(answer);
  if (std::size_t const open = pending(text); open > 0) {
    auto const first = static_cast<unsigned char>(text[text.size() - open]);
    if (first == 0xF0) {
      return open == 1 ? 0x9F : static_cast<continuation::TokenId>(0x98 + dice.below(8));
    }
    return first == 0xE2 && open == 1 ? 0x82
                                      : static_cast<continuation::TokenId>(0xA0 + dice.below(16));
  }
  bool const thinks =
      what.reasons && std::find(answer.begin(), answer.end(), kThink) == answer.end();
  if (dice.one_in(12)) {
    return thinks ? kThink : kEnd;
  }
  if (dice.one_in(5)) {
    std::array<continuation::TokenId, 3> const starts{0xC3, 0xE2, 0xF0};
    return starts[dice.below(3)];
  }
  return static_cast<continuation::TokenId>(kWords + dice.below(kTexts.size()));
}

struct Asked {
  TokenIds given;  // of the answer
  std::uint64_t max_tokens = 16;
  bool reports_ids = false;
  bool reports_usage = false;
  bool keeps_stop = false;
  bool is_ids = false;
  bool is_content = false;  // what is given is a message: content, whatever a parser makes of it
  bool is_refused = false;
};

std::string last_content(json::Value const& messages, bool& is_assistants) {
  std::vector<json::Value> list;
  Members last;
  static_cast<void>(json::read_array(messages.text, list));
  static_cast<void>(json::read_object(list.back().text, last));
  is_assistants = find_value(last, "role")->text == "assistant";
  return json::to_string(*find_value(last, "content"));
}

Asked read(Case const& what, std::string const& body, Mode knows) {
  Members members;
  Asked asked;
  if (json::read_object(body, members)) {
    asked.is_refused = true;
    return asked;
  }
  auto const has = [&](std::string_view key) { return find_value(members, key) != nullptr; };
  asked.is_refused =
      (knows == Mode::none && body.find("continuous_usage") != body.npos) ||
      (knows != Mode::ids_vllm && knows != Mode::ids_sglang && has("return_token_ids")) ||
      (knows == Mode::ids_sglang && what.is_chat && has("return_token_ids"));
  asked.reports_ids = has("return_token_ids") && knows != Mode::none && knows != Mode::text;
  asked.reports_usage = body.find("\"continuous_usage_stats\":true") != body.npos;
  asked.keeps_stop = has("include_stop_str_in_output") && knows == Mode::ids_vllm;
  asked.max_tokens = json::to_unsigned(*find_value(members, "max_tokens")).value_or(16);
  std::optional<TokenIds> ids;
  std::string text;
  if (!what.is_chat) {
    json::Value const& prompt = *find_value(members, "prompt");
    ids = continuation::read_ids(prompt);
    text = ids ? "" : json::to_string(prompt).substr(text_of(kPrompt).size());
  } else if (json::Value const* const transfer = find_value(members, "kv_transfer_params")) {
    Members inner;
    static_cast<void>(json::read_object(transfer->text, inner));
    ids = continuation::read_ids(*find_value(inner, "prompt_token_ids"));
  } else if (json::Value const* const given = find_value(members, "input_ids")) {
    ids = continuation::read_ids(*given);
  } else {
    bool is_assistants = false;
    text = last_content(*find_value(members, "messages"), is_assistants);
    text.resize(is_assistants ? text.size() - continuation::space_at_end(text) : 0);
    asked.is_content = is_assistants && what.reasons && !text.empty();
  }
  asked.is_ids = ids.has_value();
  asked.given =
      ids ? TokenIds(ids->begin() + static_cast<std::ptrdiff_t>(kPrompt.size()), ids->end())
          : tokens_of(text);
  if (asked.is_content && !what.reopens) {
    asked.given.insert(asked.given.begin(), kThink);  // the template has it that there was none
  }
  return asked;
}

/// Writes the events of one leg.
class Writer {
 public:
  Writer(Case const& what, Asked const& asked, TokenIds prompt, std::string const& id, Leg& leg)
      : what_(what), asked_(asked), prompt_(std::move(prompt)), id_(id), leg_(leg) {}

  void role() {
    if (what_.is_chat) {
      event({}, R"("delta":{"role":"assistant","content":""})", "null");
    }
  }
  void tokens(TokenIds const& ids, std::string_view content, std::string_view reasoning,
              std::string_view finish) {
    made_ += ids.size();
    std::string inner;
    if (what_.is_chat) {
      inner = "\"delta\":{";
      inner += reasoning.empty() ? "" : "\"reasoning\":" + string(reasoning) + ",";
      inner += "\"content\":" + string(content) + "}";
    } else {
      inner = "\"text\":" + string(content);
    }
    event(ids, inner, finish.empty() ? "null" : string(finish));
  }
  void end() {
    if (asked_.reports_usage) {
      leg_.events.push_back("data: {" + head() + ",\"choices\":[]" + usage() + "}\n\n");
    }
    leg_.events.emplace_back("data: [DONE]\n\n");
  }

 private:
  static std::string string(std::string_view text) {
    std::string out;
    json::append_string(out, text);
    return out;
  }
  std::string head() const {
    return "\"id\":\"" + id_ + "\",\"object\":\"o\",\"created\":" + std::to_string(id_.size()) +
           ",\"model\":\"m" + id_ + "\"";
  }
  std::string usage() const {
    return ",\"usage\":{\"prompt_tokens\":" + std::to_string(prompt_.size()) +
           ",\"total_tokens\":" + std::to_string(prompt_.size() + made_) +
           ",\"completion_tokens\":" + std::to_string(made_) + "}";
  }
  void event(TokenIds const& ids, std::string const& inner, std::string const& finish) {
    std::string out = "data: {" + head() + ",\"choices\":[{\"index\":0," + inner;
    out += ",\"logprobs\":null,\"finish_reason\":" + finish;
    if (asked_.reports_ids && !ids.empty()) {
      out += ",\"token_ids\":";
      append_ids(out, ids);
    }
    if (asked_.reports_ids && is_first_) {
      out += ",\"prompt_token_ids\":";
      append_ids(out, prompt_);
    }
    is_first_ = false;
    leg_.events.push_back(out + "}]" + (asked_.reports_usage ? usage() : "") + "}\n\n");
  }

  Case const& what_;
  Asked const& asked_;
  TokenIds const prompt_;
  std::string const& id_;
  Leg& leg_;
  std::uint64_t made_ = 0;
  bool is_first_ = true;
};

/// How much of the generated text an engine lets out by now.
std::size_t size_to_tell(Case const& what, Asked const& asked, std::string const& text) {
  std::size_t hold = pending(text);
  if (what.has_tools && text.ends_with('<')) {
    hold = std::max<std::size_t>(hold, 1);
  }
  if (!what.stop.empty() && !asked.keeps_stop) {
    hold = std::max(hold, what.stop.size() - 1);
  }
  std::size_t size = text.size() - std::min(hold, text.size());
  while (size > 0 && pending(std::string_view(text).substr(0, size)) > 0) {
    --size;
  }
  return size;
}

void generate_events(Case const& what, Asked const& asked, Leg& leg, std::string const& leaked,
                     Writer& writer, Dice& dice) {
  bool thinks = what.reasons &&
                std::find(asked.given.begin(), asked.given.end(), kThink) == asked.given.end();
  std::string text = leaked;  // of one kind; the other begins after kThink
  std::size_t announced = 0;
  std::uint64_t made = 0;
  std::string finish;
  while (finish.empty()) {
    TokenIds batch;
    bool flushes = false;
    for (std::uint64_t i = dice.below(what.ids_an_event) + 1; i > 0 && finish.empty() && !flushes;
         --i) {
      auto const id = sample(what, leg.answer, dice);
      leg.answer.push_back(id);
      batch.push_back(id);
      ++made;
      flushes = id == kThink;
      text += bytes_of(id);
      std::size_t const stop = what.stop.empty() ? text.npos : text.find(what.stop);
      if (stop != text.npos) {
        finish = "stop";
        text.resize(asked.keeps_stop ? stop + what.stop.size() : stop);
      } else if (id == kEnd || made >= asked.max_tokens) {
        finish = id == kEnd ? "stop" : "length";
        text.resize(text.size() - pending(text));
      }
    }
    std::size_t size = size_to_tell(what, asked, text);
    size = finish.empty() && !flushes ? std::max(size, announced) : text.size();
    announced = std::min(announced, size);
    std::string_view const out = std::string_view(text).substr(announced, size - announced);
    writer.tokens(batch, thinks ? "" : out, thinks ? out : "", finish);
    announced = size;
    if (flushes) {
      thinks = false;
      text.clear();
      announced = 0;
    }
  }
  writer.end();
}

}  // namespace

std::string Case::body() const {
  std::string body = R"({"model":"m",)";
  std::string prompt;
  json::append_string(prompt, text_of(kPrompt));
  body +=
      is_chat ? R"("messages":[{"role":"user","content":)" + prompt + "}]" : "\"prompt\":" + prompt;
  if (!stop.empty()) {
    body += ",\"stop\":[\"" + stop + "\"]";
  }
  body += keeps_stop ? R"(,"include_stop_str_in_output":true)" : "";
  body += has_tools ? R"(,"tools":[{"type":"function"}])" : "";
  body += wants_ids ? R"(,"return_token_ids":true)" : "";
  body += wants_usage ? R"(,"stream_options":{"include_usage":true})" : "";
  return body + R"(,"stream":true,"max_tokens":)" + std::to_string(max_tokens) + "}";
}

Texts texts_of(Case const& what, TokenIds const& ids) {
  auto const end = what.reasons ? std::find(ids.begin(), ids.end(), kThink) : ids.begin();
  Texts texts{text_of({ids.begin(), end}), text_of({end, ids.end()})};
  return texts;
}

Leg generate(Case const& what, std::string const& body, Mode knows, Lie lie, std::string const& id,
             Dice& dice) {
  Leg leg;
  Asked asked = read(what, body, knows);
  if (asked.is_refused) {
    leg.status = 400;
    return leg;
  }
  bool const goes_on = !asked.given.empty();
  // A prompt that its engine cuts short at a stop string cannot be distinguished from an answer.
  bool const is_cut = !what.stop.empty() && text_of(kPrompt).find(what.stop) != std::string::npos;
  leg.is_lie = goes_on && lie != Lie::none && (lie != Lie::leaks || (asked.is_ids && !is_cut));
  if (leg.is_lie && lie == Lie::one_less && asked.is_ids) {
    asked.given.pop_back();
  } else if (leg.is_lie && lie != Lie::leaks) {
    asked.given.clear();
  }
  asked.reports_ids = asked.reports_ids && !(leg.is_lie && lie == Lie::silent);
  asked.reports_usage = asked.reports_usage && !(leg.is_lie && lie == Lie::silent);
  leg.answer = asked.given;
  if (asked.is_content && what.reopens && !asked.given.empty()) {
    leg.answer.insert(leg.answer.begin(), kThink);
  }
  leg.given = leg.answer.size();
  leg.keeps_stop = asked.keeps_stop;
  TokenIds prompt = kPrompt;
  prompt.insert(prompt.end(), asked.given.begin(), asked.given.end());
  Writer writer(what, asked, std::move(prompt), id, leg);
  writer.role();
  std::string leaked;
  for (int i = 0; leg.is_lie && lie == Lie::leaks && i < 5; ++i) {
    leaked += text_of(kPrompt);
  }
  leaked += leaked.empty() ? std::string() : text_of(asked.given);
  generate_events(what, asked, leg, leaked, writer, dice);
  return leg;
}

}  // namespace lastcall::router::simulation
