#include "router/continuation/verifier.hpp"

#include <algorithm>
#include <utility>

#include "base/json_reader.hpp"

namespace lastcall::router::continuation {
namespace {

std::size_t common_prefix(TokenIds const& one, TokenIds const& other) {
  auto const [end, ignored] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return static_cast<std::size_t>(end - one.begin());
}

}  // namespace

/// Re-tokenized text merges differently at its seams; the difference is a few tokens, not many.
bool Verifier::is_about(std::uint64_t rise, std::uint64_t delivered) const {
  std::uint64_t const slack = delivered / 8 + 2;
  return rise > 0 && rise + slack + expected_.held >= delivered && rise <= delivered + slack;
}

bool Verifier::fits(TokenIds const& reported) const {
  if (expected_.way == Way::by_ids) {
    return reported == expected_.prompt_ids;
  }
  if (reported == expected_.exactly) {
    return true;
  }
  if (!expected_.prompt_ids) {
    return fits(static_cast<std::uint64_t>(reported.size()));
  }
  // The last token of the prompt may have merged with the first delivered one.
  std::size_t const before = expected_.prompt_ids->size();
  return reported.size() > before && common_prefix(reported, *expected_.prompt_ids) + 1 >= before &&
         is_about(reported.size() - before, expected_.since_ids);
}

bool Verifier::fits(std::uint64_t count) const {
  if (expected_.way == Way::by_ids) {
    return count == expected_.prompt_ids->size();
  }
  auto const rose = [this, count](std::uint64_t before, std::uint64_t since) {
    return count > before && is_about(count - before, since);
  };
  if (expected_.prompt_count) {
    return rose(*expected_.prompt_count, expected_.since_count);
  }
  return expected_.prompt_ids && rose(expected_.prompt_ids->size(), expected_.since_ids);
}

bool Verifier::leaks(Chunk const& chunk) const {
  // A prompt given as text ends with a complete character, so there the count alone would reject
  // correct legs.
  std::uint64_t const counted =
      expected_.way == Way::by_ids && chunk.usage ? chunk.usage->completion : 0;
  std::uint64_t const tokens = chunk.ids.empty() ? counted : chunk.ids.size();
  std::string text;
  for (auto const& value : {chunk.reasoning, chunk.text}) {  // as they follow in the prompt
    text += value ? json::to_string(*value) : std::string();
  }
  bool const is_long = tokens > 0 && text.size() > kMostBytesAnId * tokens;
  bool const is_no_token = tokens > 0 && text.size() > kLongestToken * tokens;
  bool const has_prompt = expected_.prompt_end.size() >= kMostBytesAnId / 2 &&
                          text.find(expected_.prompt_end) != text.npos;
  bool const has_delivered = text.find(expected_.delivered_begin) != text.npos;
  return is_no_token || (has_delivered && (is_long || has_prompt));
}

Verdict Verifier::receive(Chunk const& chunk) {
  if (expected_.way == Way::whole) {
    return chunk.has_output() ? Verdict::proven : Verdict::open;
  }
  if (chunk.prompt_ids && !reported_) {
    reported_ = chunk.prompt_ids;
    so_far_ = fits(*reported_) ? Verdict::proven : Verdict::other_prompt;
  } else if (so_far_ == Verdict::open && chunk.usage && chunk.usage->prompt > 0) {
    so_far_ = fits(chunk.usage->prompt) ? Verdict::proven : Verdict::other_prompt;
  }
  if (so_far_ == Verdict::other_prompt) {
    return so_far_;
  }
  if (!chunk.has_output()) {
    early_ids_.insert(early_ids_.end(), chunk.ids.begin(), chunk.ids.end());
    bool const has_prompt = so_far_ == Verdict::proven;
    std::size_t const most = has_prompt ? kMostEarlyIds : kMostUnprovenIds;
    return early_ids_.size() > most ? Verdict::unproven : Verdict::open;
  }
  if (so_far_ == Verdict::open) {
    return Verdict::unproven;
  }
  if (expected_.way == Way::by_text && chunk.reasoning && !chunk.reasoning->text.empty()) {
    return Verdict::reasons;
  }
  return leaks(chunk) ? Verdict::leaks_prompt : Verdict::proven;
}

}  // namespace lastcall::router::continuation
