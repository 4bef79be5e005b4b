#include "relay/event_stream.hpp"

#include <algorithm>

namespace lastcall::relay {
namespace {

/// `[DONE]` and the lines that end its event.
constexpr std::size_t kLastWords = 16;

}  // namespace

EventStream::Pieces EventStream::whole(std::string_view payload, std::size_t boundary) {
  if (boundary == 0) {
    return {};
  }
  at_ = At::boundary;
  return {part_, payload.substr(0, boundary), true};
}

EventStream::Pieces EventStream::rest(std::string_view payload, std::size_t boundary) {
  std::string_view const part = payload.substr(boundary);
  if (at_ == At::torn || part_.size() + part.size() > kMaxHeldEvent) {
    at_ = At::torn;
    return {part_, part, false};
  }
  part_.append(part);
  return {};
}

void EventStream::note_last_words(std::string_view payload) {
  last_words_.append(payload.substr(payload.size() - std::min(payload.size(), kLastWords)));
  last_words_.erase(0, last_words_.size() - std::min(last_words_.size(), kLastWords));
}

bool EventStream::says_done() const {
  std::string_view words = last_words_;
  words = words.substr(0, words.find_last_not_of("\r\n") + 1);
  return words.ends_with("[DONE]");
}

}  // namespace lastcall::relay
