#include "router/continuation/transcript.hpp"

#include <utility>

namespace lastcall::router::continuation {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

void Transcript::add(Piece const& piece) {
  static TokenIds const kNone;
  TokenIds const& ids = piece.ids != nullptr ? *piece.ids : kNone;
  std::size_t const told = piece.content.size() + piece.reasoning.size();
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  if (told == 0) {
    return;
  }
  ids_are_lost_ = ids_are_lost_ || ids.empty();
  text_.append(piece.content);
  size_ += told;
  count_.note_text(ids_are_lost_ ? piece.completion : std::optional<std::uint64_t>(ids_.size()));
  bool const may_be_pending =
      piece.content.ends_with(kReplacement) || piece.reasoning.ends_with(kReplacement);
  if (ids.size() == 1 && !piece.may_lag && !may_be_pending) {
    clean_ = {ids_.size(), text_.size(), size_};
  }
}

TokenIds Transcript::tail_ids() const {
  return {ids_.begin() + static_cast<std::ptrdiff_t>(clean_.ids), ids_.end()};
}

bool Transcript::confirm(std::string_view detokenized) {
  bool const is_all_content = size_ - clean_.size == text_.size() - clean_.text;
  if (ids_are_lost_ || !is_all_content || detokenized.ends_with(kReplacement) ||
      detokenized != std::string_view(text_).substr(clean_.text)) {
    return false;
  }
  clean_ = {ids_.size(), text_.size(), size_};
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

void Transcript::go_on_by_text(std::size_t dropped, std::optional<TokenIds> told) {
  count_.begin_leg_by_text(told.has_value());
  text_.resize(text_.size() - dropped);
  size_ -= dropped;
  ids_.clear();
  ids_are_lost_ = !told.has_value();
  if (told) {
    prompt_ = std::move(told);
  }
  clean_ = {ids_.size(), text_.size(), size_};
}

void Transcript::begin_again() {
  ids_.clear();
  text_.clear();
  size_ = 0;
  clean_ = {};
  count_ = {};
  ids_are_lost_ = false;
}

void Transcript::forget() {
  prompt_.reset();
  TokenIds().swap(ids_);
  std::string().swap(text_);
  clean_ = {};
  ids_are_lost_ = true;
}

std::size_t Transcript::bytes() const {
  std::size_t const prompt = prompt_ ? prompt_->capacity() : 0;
  return text_.capacity() + (prompt + ids_.capacity()) * sizeof(TokenId);
}

}  // namespace lastcall::router::continuation
