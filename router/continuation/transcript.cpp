#include "router/continuation/transcript.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::router::continuation {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

void Transcript::add(Piece const& piece) {
  static TokenIds const kNone;
  TokenIds const& ids = piece.ids != nullptr ? *piece.ids : kNone;
  std::size_t const reported = piece.content.size() + piece.reasoning.size();
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  if (reported == 0) {
    return;
  }
  ids_are_lost_ = ids_are_lost_ || ids.empty();
  text_.append(piece.content);
  last_ = {ids_.size(), text_.size(), last_.size + reported};
  count_.note_text(ids_are_lost_ ? piece.completion : std::optional<std::uint64_t>(ids_.size()));
  bool const may_be_pending =
      piece.content.ends_with(kReplacement) || piece.reasoning.ends_with(kReplacement);
  if (ids.size() == 1 && !piece.may_lag && !may_be_pending) {
    clean_ = last_;
  }
}

TokenIds Transcript::tail_ids(Tail which) const {
  std::size_t const end = which == Tail::all ? ids_.size() : std::max(clean_.ids, last_.ids);
  return {ids_.begin() + static_cast<std::ptrdiff_t>(clean_.ids),
          ids_.begin() + static_cast<std::ptrdiff_t>(end)};
}

bool Transcript::confirm(std::string_view detokenized) {
  bool const is_all_content = last_.size - clean_.size == text_.size() - clean_.text;
  if (ids_are_lost_ || !is_all_content || detokenized.ends_with(kReplacement) ||
      detokenized != std::string_view(text_).substr(clean_.text)) {
    return false;
  }
  clean_ = last_;
  return true;
}

TokenIds Transcript::history() const {
  TokenIds all = prompt_.value_or(TokenIds{});
  all.insert(all.end(), ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(clean_.ids));
  return all;
}

void Transcript::go_on_by_ids() {
  ids_.resize(clean_.ids);
  count_.begin_leg_by_ids(clean_.ids);
}

void Transcript::go_on_by_text(std::size_t dropped, std::optional<TokenIds> reported) {
  count_.begin_leg_by_text(reported.has_value());
  text_.resize(text_.size() - dropped);
  ids_.clear();
  ids_are_lost_ = !reported.has_value();
  if (reported) {
    prompt_ = std::move(reported);
  }
  clean_ = last_ = {ids_.size(), text_.size(), last_.size - dropped};
}

void Transcript::begin_again() {
  ids_.clear();
  text_.clear();
  clean_ = last_ = {};
  count_ = {};
  ids_are_lost_ = false;
}

void Transcript::forget() {
  prompt_.reset();
  TokenIds().swap(ids_);
  std::string().swap(text_);
  clean_ = {};
  last_.ids = last_.text = 0;
  ids_are_lost_ = true;
}

std::size_t Transcript::bytes() const {
  std::size_t const prompt = prompt_ ? prompt_->capacity() : 0;
  return text_.capacity() + (prompt + ids_.capacity()) * sizeof(TokenId);
}

}  // namespace lastcall::router::continuation
