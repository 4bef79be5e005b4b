#include "router/continuation/transcript.hpp"

#include <algorithm>
#include <utility>

namespace lastcall::router::continuation {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

constexpr bool is_ideograph(std::uint32_t point) {
  return (point >= 0x3400 && point <= 0x9FFF) || (point >= 0xF900 && point <= 0xFAFF) ||
         (point >= 0x20000 && point <= 0x2FA1F);
}

/// Returns the last code point of a text in UTF-8.
std::uint32_t last_point(std::string_view text) {
  constexpr unsigned kKind = 0xC0;
  constexpr unsigned kInside = 0x80;
  std::uint32_t point = 0;
  for (unsigned shift = 0; !text.empty(); shift += 6) {
    auto const byte = static_cast<unsigned char>(text.back());
    text.remove_suffix(1);
    if ((byte & kKind) != kInside || shift == 18) {
      unsigned const taken = shift == 0 ? 0x7F : 0x3FU >> (shift / 6);  // bits of the first byte
      return point | ((byte & taken) << shift);
    }
    point |= (byte & 0x3FU) << shift;
  }
  return point;
}

/// Whether SGLang may have sent this text before the rest of an incomplete character.
bool may_precede_part(std::string_view text) {
  return text.ends_with(' ') || is_ideograph(last_point(text));
}

/// The room to allocate if `bytes` are needed and there is room for `has`. A record is kept much
/// longer than it grows, and is small for most answers; therefore it neither doubles, as containers
/// do by themselves, nor grows by one small block after another.
std::size_t room_for(std::size_t bytes, std::size_t has) {
  constexpr std::size_t kFirst = 96;
  return std::max(bytes, has + has / 4 + kFirst);
}

void append(std::string& text, std::string_view more) {
  std::size_t const size = text.size() + more.size();
  if (size > text.capacity()) {
    std::string larger;
    larger.reserve(room_for(size, text.capacity()));
    text.swap(larger.append(text));
  }
  text.append(more);
}

void append(TokenIds& ids, TokenIds const& more) {
  std::size_t const size = ids.size() + more.size();
  if (size > ids.capacity()) {
    constexpr std::size_t kEach = sizeof(TokenId);
    ids.reserve(room_for(size * kEach, ids.capacity() * kEach) / kEach);
  }
  ids.insert(ids.end(), more.begin(), more.end());
}

}  // namespace

void Transcript::add(Piece const& piece) {
  static TokenIds const kNone;
  TokenIds const& ids = piece.ids != nullptr ? *piece.ids : kNone;
  std::size_t const reported = piece.content.size() + piece.reasoning.size();
  append(ids_, ids);
  if (reported == 0) {
    return;
  }
  ids_are_lost_ = ids_are_lost_ || ids.empty();
  append(text_, piece.content);
  last_ = Mark::of(ids_.size(), text_.size(), last_.size + reported);
  count_.note_text(ids_are_lost_ ? piece.completion : std::optional<std::uint64_t>(ids_.size()));
  bool const may_be_pending =
      piece.content.ends_with(kReplacement) || piece.reasoning.ends_with(kReplacement) ||
      (piece.sends_ahead && (may_precede_part(piece.content) || may_precede_part(piece.reasoning)));
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

std::optional<TokenIds> Transcript::prompt() const {
  if (prompt_.empty()) {
    return std::nullopt;
  }
  return TokenIds(prompt_.all().begin(), prompt_.all().end());
}

TokenIds Transcript::history() const {
  TokenIds all(prompt_.all().begin(), prompt_.all().end());
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
    prompt_ = CompactArray<TokenId>(*reported);
  }
  clean_ = last_ = Mark::of(ids_.size(), text_.size(), last_.size - dropped);
}

void Transcript::begin_again() {
  ids_.clear();
  text_.clear();
  clean_ = last_ = {};
  count_ = {};
  ids_are_lost_ = false;
}

void Transcript::forget() {
  prompt_ = {};
  TokenIds().swap(ids_);
  std::string().swap(text_);
  clean_ = {};
  last_.ids = last_.text = 0;
  ids_are_lost_ = true;
}

std::size_t Transcript::bytes() const {
  return text_.capacity() + prompt_.capacity() + ids_.capacity() * sizeof(TokenId);
}

}  // namespace lastcall::router::continuation
