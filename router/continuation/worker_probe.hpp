// Finds out what a worker can do at one endpoint by asking questions outside of user traffic, once
// per instance.
//
// Rules:
//  1. Each question is a stream of one token; its answer counts only if it reports what was
//     requested. A 400 is an answer too: the worker does not accept the field. So are a 404 (the
//     worker has no such endpoint), and a 500 in reply to a question that only adds a field to one
//     that the worker has answered.
//  2. A worker that does not answer, is busy, or requires a key gets no further questions, and
//     nothing is known of it (has_failed()).
//  3. The result is a Mode: the most that the worker proved.
//  4. At completions, text after the prompt is simply a longer prompt for every engine, so there is
//     no question about that.
//
// Pure, no thread rule. Source: docs/continuation.md, 'What each worker can do'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/moves.hpp"
#include "router/continuation/bodies.hpp"
#include "router/continuation/chunk.hpp"
#include "router/continuation/request.hpp"

namespace lastcall::router::continuation {

enum class ProbeStep : std::uint8_t {
  usage,        // does it report its count of the prompt in the first chunk?
  text,         // does the prompt grow by a partial answer?
  reports_ids,  // does it report token ids?
  vllm_ids,     // does it accept them as vLLM does?
  sglang_ids,   // does it accept them as SGLang does?
  done,
};

class WorkerProbe {
 public:
  /// `known` holds the ids of some text of the model, for a worker that reports none at this
  /// endpoint but may accept them.
  WorkerProbe(Endpoint endpoint, std::string model, TokenIds known = {})
      : endpoint_(endpoint), model_(std::move(model)), known_(std::move(known)) {}

  /// The body of the next question, to be sent to the endpoint's path; absent when the probe is
  /// over.
  std::optional<std::string> next() const;
  /// Handles a whole answer. `status` is 0 if there was none.
  void answered(unsigned status, std::string_view stream);
  Mode mode() const { return mode_; }
  bool has_failed() const { return has_failed_; }
  /// The ids of its prompt and of one token, if it reported them.
  TokenIds const& reported() const { return history_; }

 private:
  struct Reported {
    std::optional<std::uint64_t> prompt_count;
    std::optional<TokenIds> prompt_ids;
    TokenIds ids;
    bool has_spoken = false;
  };
  static Reported read(std::string_view stream);
  ProbeStep after(Reported const& reported);
  bool is_answer(unsigned status) const;
  bool took(Reported const& reported) const;

  Endpoint const endpoint_;
  std::string const model_;
  TokenIds const known_;
  bool has_failed_ = false;
  ProbeStep step_ = ProbeStep::usage;
  Mode mode_ = Mode::none;
  std::uint64_t prompt_count_ = 0;
  TokenIds history_;
};

/// At completions vLLM and SGLang accept ids in the same form, and only vLLM is known to hold no
/// text back for a stop string that is requested in the output, so a worker that is not known to be
/// vLLM is treated as SGLang.
constexpr Mode mode_of_completions(Mode found, bool is_vllm) {
  return found == Mode::ids_vllm && !is_vllm ? Mode::ids_sglang : found;
}

}  // namespace lastcall::router::continuation
