// A client's answer so far: the ids and the text that its engine reported, and where both end at
// the same place (are *level*).
//
// Rules:
//  1. A *clean boundary* is after an event that reported exactly one id and text with it: the
//     engine's detokenizer gives text out only when nothing of it is pending. After an event of
//     several ids bytes may be pending that are not visible; after ids without text they are.
//  2. Ids can be sent back if no text was reported since the last clean boundary; the ids after it
//     are dropped, because their text was never sent.
//  3. If an engine may hold text back (a parser of tools, stop strings), one id with text is not a
//     proof either: only a detokenized tail is (confirm()).
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
  with_text,  // without those that were reported after the last text
};

class Transcript {
 public:
  struct Piece {
    TokenIds const* ids = nullptr;
    std::string_view content;
    std::string_view reasoning;
    std::optional<std::uint64_t> completion;  // tokens of this leg so far, as its engine reported
    bool may_lag = false;                     // text of an id may come later than the id
  };
  void report_prompt(TokenIds const& ids) {
    prompt_count_ = as_tokens(ids.size());
    prompt_ = CompactArray<TokenId>(ids);
  }
  void report_prompt_count(std::uint64_t count) { prompt_count_ = as_tokens(count); }
  void add(Piece const& piece);

  /// Reported after the last clean boundary. A worker that can detokenize those with text proves
  /// that they are level with it.
  TokenIds tail_ids(Tail which = Tail::all) const;
  /// True where `detokenized` is the text after the last clean boundary, and nothing is pending.
  bool confirm(std::string_view detokenized);

  bool knows_ids() const { return !prompt_.empty() && !ids_are_lost_; }
  bool is_level() const { return last_.size == clean_.size; }
  /// Prompt and ids up to the last clean boundary.
  TokenIds history() const;
  std::string const& text() const { return text_; }
  bool has_text() const { return last_.size > 0; }
  bool has_reasoned() const { return reasons_unseen_ || last_.size > text_.size(); }
  /// Whether it reasons although its text does not show it, because a leg by text continued it as
  /// reasoning.
  void report_reasons() { reasons_unseen_ = true; }

  /// Tokens that a continuation by ids keeps.
  std::uint64_t kept_by_ids() const { return count_.kept() + clean_.ids; }
  TokenCount const& count() const { return count_; }
  std::optional<TokenIds> prompt() const;
  std::optional<std::uint64_t> prompt_count() const { return prompt_count_; }

  /// A continuation by ids was verified, so its reports follow history().
  void go_on_by_ids();
  /// A continuation by text was verified: the last `dropped` bytes of the text are sent again.
  /// `reported`: the new prompt's ids.
  void go_on_by_text(std::size_t dropped, std::optional<TokenIds> reported);
  /// The whole request was sent again.
  void begin_again();

  void forget();
  std::size_t bytes() const;

 private:
  struct Mark {
    std::uint32_t ids = 0;   // of ids_
    std::uint32_t text = 0;  // of text_
    std::uint32_t size = 0;  // bytes of content and reasoning

    static Mark of(std::size_t ids, std::size_t text, std::size_t size) {
      return {static_cast<std::uint32_t>(ids), static_cast<std::uint32_t>(text),
              static_cast<std::uint32_t>(size)};
    }
  };

  CompactArray<TokenId> prompt_;  // empty: it is not known
  TokenIds ids_;                  // reported after prompt_
  std::string text_;              // content alone
  Mark last_;                     // after the last text
  Mark clean_;                    // the last clean boundary
  TokenCount count_;
  std::optional<Tokens> prompt_count_;  // of the first leg
  bool ids_are_lost_ = false;
  bool reasons_unseen_ = false;
};

}  // namespace lastcall::router::continuation
