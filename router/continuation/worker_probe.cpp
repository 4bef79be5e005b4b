#include "router/continuation/worker_probe.hpp"

#include <utility>

#include "base/json_writer.hpp"
#include "router/continuation/event_reader.hpp"

namespace lastcall::router::continuation {
namespace {

constexpr std::string_view kUsage =
    R"("stream_options":{"include_usage":true,"continuous_usage_stats":true})";
/// Enough words for any tokenizer to make several tokens of them.
constexpr std::string_view kAnswer = "one two three four five six";

}  // namespace

std::optional<std::string> WorkerProbe::next() const {
  if (step_ == ProbeStep::done) {
    return std::nullopt;
  }
  bool const is_chat = endpoint_ == Endpoint::chat;
  bool const goes_on = step_ == ProbeStep::text;
  std::string ids;
  append_ids(ids, history_);
  std::string body = "{\"model\":";
  json::append_string(body, model_);
  if (is_chat) {
    body += R"(,"messages":[{"role":"user","content":"Count."})";
    body +=
        goes_on ? ",{\"role\":\"assistant\",\"content\":\"" + std::string(kAnswer) + "\"}]" : "]";
    body += goes_on ? R"(,"continue_final_message":true,"add_generation_prompt":false)" : "";
  } else if (step_ == ProbeStep::vllm_ids) {
    body += ",\"prompt\":" + ids;
  } else {
    body += R"(,"prompt":"Count:")";
  }
  if (is_chat && step_ == ProbeStep::vllm_ids) {
    body += R"(,"kv_transfer_params":{"prompt_token_ids":)" + ids + "}";
  } else if (step_ == ProbeStep::sglang_ids) {
    body += ",\"input_ids\":" + ids;
  }
  bool const asks_for_ids = step_ == ProbeStep::reports_ids || step_ == ProbeStep::vllm_ids;
  body += asks_for_ids ? R"(,"return_token_ids":true)" : "";
  body += R"(,"max_tokens":1,"temperature":0,"stream":true,)";
  return body.append(kUsage).append("}");
}

WorkerProbe::Reported WorkerProbe::read(std::string_view stream) {
  Reported reported;
  EventReader reader;
  while (auto const event = reader.next(stream)) {
    if (event->kind != Event::Kind::data) {
      continue;
    }
    Chunk chunk = read_chunk(event->data);
    bool const is_piece = chunk.kind == Chunk::Kind::piece;
    bool const speaks = is_piece && chunk.has_words();
    // A worker that counts only when its answer ends does so in a last piece without words.
    bool const is_in_time = is_piece && (speaks || !reported.has_spoken);
    reported.has_spoken = reported.has_spoken || speaks;
    if (is_in_time && chunk.usage && !reported.prompt_count) {
      reported.prompt_count = chunk.usage->prompt;
    }
    if (chunk.prompt_ids && !reported.prompt_ids) {
      reported.prompt_ids = std::move(chunk.prompt_ids);
    }
    reported.ids.insert(reported.ids.end(), chunk.ids.begin(), chunk.ids.end());
  }
  return reported;
}

/// Whether the worker reports, or counts, the prompt that it was given as ids.
bool WorkerProbe::took(Reported const& reported) const {
  return reported.prompt_ids ? *reported.prompt_ids == history_
                             : reported.prompt_count == history_.size();
}

ProbeStep WorkerProbe::after(Reported const& reported) {
  switch (step_) {
    case ProbeStep::usage:
      prompt_count_ = reported.prompt_count.value_or(0);
      if (endpoint_ == Endpoint::chat || !reported.prompt_count) {
        return reported.prompt_count ? ProbeStep::text : ProbeStep::done;
      }
      mode_ = Mode::text;
      return ProbeStep::reports_ids;
    case ProbeStep::text:
      // If SGLang ignored the field, a chat by text alone would grow by a message; the verifier of
      // each leg checks more closely.
      mode_ = reported.prompt_count.value_or(0) > prompt_count_ ? Mode::text : mode_;
      return mode_ == Mode::text ? ProbeStep::reports_ids : ProbeStep::done;
    case ProbeStep::reports_ids:
      if (!reported.prompt_ids || reported.ids.empty()) {
        history_ = known_;
        return endpoint_ == Endpoint::chat && !known_.empty() ? ProbeStep::sglang_ids
                                                              : ProbeStep::done;
      }
      history_ = *reported.prompt_ids;
      history_.push_back(reported.ids.front());
      return ProbeStep::vllm_ids;
    case ProbeStep::vllm_ids:
      mode_ = took(reported) ? Mode::ids_vllm : mode_;
      return took(reported) || endpoint_ != Endpoint::chat ? ProbeStep::done
                                                           : ProbeStep::sglang_ids;
    case ProbeStep::sglang_ids:
      mode_ = took(reported) ? Mode::ids_sglang : mode_;
      return ProbeStep::done;
    case ProbeStep::done:
      return ProbeStep::done;
  }
  return ProbeStep::done;
}

bool WorkerProbe::is_answer(unsigned status) const {
  switch (status) {
    case 0:
    case 401:
    case 402:
    case 403:
    case 407:
    case 408:
    case 425:
    case 429:
      return false;
    case 500:
      return step_ != ProbeStep::usage;
    case 501:
      return true;
    default:
      return status < 500;
  }
}

void WorkerProbe::answered(unsigned status, std::string_view stream) {
  constexpr unsigned kOk = 200;
  has_failed_ = !is_answer(status);
  step_ = has_failed_ ? ProbeStep::done : after(status == kOk ? read(stream) : Reported{});
}

}  // namespace lastcall::router::continuation
