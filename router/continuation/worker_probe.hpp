// Finds what a worker can do at one endpoint by asking it: off user traffic, once per instance.
//
// Rules:
//  1. Each question is a stream of one token; its answer is believed only where it reports what was
//     asked for. A 400 is an answer: the worker does not take the field. So is a 404 (it has no
//     such endpoint), and a 500 at a question that only adds a field to one that it has answered.
//  2. A worker that does not answer, is busy, or wants a key, is asked no further: nothing is known
//     of it (has_failed()).
//  3. What was found is a Mode: the most that the worker proved.
//  4. Text after the prompt of a completion is a longer prompt everywhere, so that is not asked.
//
// Pure, no thread rule. Source: docs/continuation.md, 'Who can what'.
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
  reports_ids,  // does it report ids?
  vllm_ids,     // does it take them as vLLM does?
  sglang_ids,   // or as SGLang does?
  done,
};

class WorkerProbe {
 public:
  /// `known`: ids of some text of the model, for a worker that reports none at this endpoint and
  /// may take them all the same.
  WorkerProbe(Endpoint endpoint, std::string model, TokenIds known = {})
      : endpoint_(endpoint), model_(std::move(model)), known_(std::move(known)) {}

  /// The body of the next question, to be sent to the endpoint's path; nothing: it is over.
  std::optional<std::string> next() const;
  /// A whole answer. `status` 0: there was none.
  void answered(unsigned status, std::string_view stream);
  Mode mode() const { return mode_; }
  bool has_failed() const { return has_failed_; }
  /// Those of its prompt and one token, where it reported any.
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

/// At completions vLLM and SGLang take ids alike, and only vLLM is known to hold no text back for a
/// stop string that is asked for in the output: a worker that is not known to be vLLM is taken for
/// SGLang.
constexpr Mode mode_of_completions(Mode found, bool is_vllm) {
  return found == Mode::ids_vllm && !is_vllm ? Mode::ids_sglang : found;
}

}  // namespace lastcall::router::continuation
