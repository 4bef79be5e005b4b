// The answer that a client has received so far: the ids and the text that the engine reported, and
// the place where both are *level*, that is, end at the same place.
//
// Rules:
//  1. A *clean boundary* is after an event that reported exactly one id and text with it: the
//     engine's detokenizer emits text only when none of it is pending. After an event with several
//     ids, bytes may be pending that are not visible; after ids without text, bytes are pending.
//  2. Ids can be sent back if no text was reported since the last clean boundary; the ids after
//     that boundary are dropped, because their text was never sent.
//     SGLang is different: it sends the text before an incomplete character, if that text ends with
//     a space or an ideograph, together with an id that has a part of the character.
//  3. If an engine may hold text back (because of a tool parser or stop strings), even one id with
//     text is no proof; only a detokenized tail is (confirm()).
//
// Pure, no thread rule. Source: docs/continuation.md, 'Clean boundaries'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/compact_array.hpp"
#include "router/continuation/chunk.hpp"
#include "router/continuation/token_count.hpp"

namespace lastcall::router::continuation {

enum class Tail : std::uint8_t {
  all,
  with_text,  // all except those that were reported after the last text
};

class Transcript {
 public:
  struct Piece {
    TokenIds const* ids = nullptr;
    std::string_view content;
    std::string_view reasoning;
    std::optional<std::uint64_t> completion;  // tokens of this leg so far, as its engine reported
    bool may_lag = false;                     // the text of an id may arrive later than the id
    bool sends_ahead = false;                 // the text before a part of a character may be sent
  };
  void report_prompt(TokenIds const& ids) {
    prompt_count_ = as_tokens(ids.size());
    prompt_ = CompactArray<TokenId>(ids);
  }
  void report_prompt_count(std::uint64_t count) { prompt_count_ = as_tokens(count); }
  void add(Piece const& piece);

  /// The ids that were reported after the last clean boundary. A worker that can detokenize those
  /// with text proves that they are level with the text.
  TokenIds tail_ids(Tail which = Tail::all) const;
  /// Returns true if `detokenized` is the text after the last clean boundary and nothing is
  /// pending.
  bool confirm(std::string_view detokenized);

  bool knows_ids() const { return !prompt_.empty() && !ids_are_lost_; }
  bool is_level() const { return last_.size == clean_.size; }
  /// The ids of the prompt, and of the answer up to the last clean boundary.
  TokenIds history() const;
  std::string const& text() const { return text_; }
  bool has_text() const { return last_.size > 0; }
  bool has_reasoned() const { return reasons_unseen_ || last_.size > text_.size(); }
  /// Notes that the answer is in its reasoning although its own text does not show that, because
  /// the worker continued the text as reasoning.
  void report_reasons() { reasons_unseen_ = true; }

  /// The number of tokens that a continuation by ids keeps.
  std::uint64_t kept_by_ids() const { return count_.kept() + clean_.ids; }
  TokenCount const& count() const { return count_; }
  std::optional<TokenIds> prompt() const;
  std::optional<std::uint64_t> prompt_count() const { return prompt_count_.get(); }

  /// A continuation by ids was verified, so its reports follow history().
  void go_on_by_ids();
  /// A continuation by text was verified: the last `dropped` bytes of the text are sent again.
  /// `reported`: the new prompt's ids.
  void go_on_by_text(std::size_t dropped, std::optional<TokenIds> reported);
  /// The whole request was sent again, so the record starts anew.
  void begin_again();

  void forget();
  std::size_t bytes() const;

 private:
  struct Mark {
    std::uint32_t ids = 0;   // number of ids in ids_
    std::uint32_t text = 0;  // bytes of text_
    std::uint32_t size = 0;  // bytes of content and reasoning together

    static Mark of(std::size_t ids, std::size_t text, std::size_t size) {
      return {static_cast<std::uint32_t>(ids), static_cast<std::uint32_t>(text),
              static_cast<std::uint32_t>(size)};
    }
  };

  CompactArray<TokenId> prompt_;  // empty if it is not known
  TokenIds ids_;                  // the ids reported after prompt_
  std::string text_;              // content without reasoning
  Mark last_;                     // after the last text
  Mark clean_;                    // the last clean boundary
  TokenCount count_;
  MaybeTokens prompt_count_;  // of the first leg
  bool ids_are_lost_ = false;
  bool reasons_unseen_ = false;
};

}  // namespace lastcall::router::continuation
