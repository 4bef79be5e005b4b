#include "relay/event_stream.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace lastcall::relay {
namespace {

constexpr std::string_view kDone = "[DONE]";

/// Room for `[DONE]` and the lines that end its event.
constexpr std::size_t kLastWords = 16;

/// A usage is at the end of its event, or is followed by a few small objects.
constexpr std::size_t kUsageEnd = 256;
/// In a text of the answer, the quotes of this key would be escaped.
constexpr std::string_view kTokens = R"("completion_tokens":)";

/// Returns the text after the last key in `text`; empty if there is none. Every event pays for
/// this, so it uses libc's search, which does not look at each byte.
std::string_view behind_last_key(std::string_view text) {
  std::string_view behind;
  while (void const* const found =
             memmem(text.data(), text.size(), kTokens.data(), kTokens.size())) {
    auto const at = static_cast<std::size_t>(static_cast<char const*>(found) - text.data());
    text.remove_prefix(at + kTokens.size());
    behind = text;
  }
  return behind;
}

}  // namespace

EventStream::Pieces EventStream::whole(std::string_view payload, std::size_t boundary) {
  if (boundary == 0) {
    return {};
  }
  at_ = At::boundary;
  std::string_view const fresh = payload.substr(0, boundary);
  has_sent_done_ = ends_with_done(fresh);
  return {part_, fresh, true};
}

/// `fresh` ends with whole events, and so with an empty line.
bool EventStream::ends_with_done(std::string_view fresh) const {
  fresh = fresh.substr(0, fresh.find_last_not_of("\r\n") + 1);
  if (fresh.size() >= kDone.size()) {
    return fresh.ends_with(kDone);
  }
  std::size_t const missing = kDone.size() - fresh.size();
  std::string_view held = part_;
  if (fresh.empty()) {
    held = held.substr(0, held.find_last_not_of("\r\n") + 1);
    if (held.empty()) {  // these bytes are the rest of an event's end
      return has_sent_done_;
    }
  }
  return kDone.ends_with(fresh) && held.ends_with(kDone.substr(0, missing));
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

void EventStream::note_tokens(std::string_view whole_events) {
  std::string_view end = whole_events;
  end.remove_prefix(end.size() - std::min(end.size(), kUsageEnd));
  end = behind_last_key(end);
  end.remove_prefix(std::min(end.find_first_not_of(' '), end.size()));
  std::uint64_t tokens = 0;
  auto const [behind, error] = std::from_chars(end.data(), end.data() + end.size(), tokens);
  if (error == std::errc()) {
    tokens_ = tokens;
  }
}

void EventStream::note_last_words(std::string_view payload) {
  if (payload.size() > kLastWords) {
    done_size_ = 0;
    payload.remove_prefix(payload.size() - kLastWords);
  }
  for (char const c : payload) {
    bool const goes_on = has_done_line() ? done_size_ < kLastWords && (c == '\n' || c == '\r')
                                         : c == kDone[done_size_];
    done_size_ = static_cast<std::uint8_t>(goes_on ? done_size_ + 1 : c == kDone.front());
  }
}

bool EventStream::has_done_line() const {
  return done_size_ >= kDone.size();
}

}  // namespace lastcall::relay
