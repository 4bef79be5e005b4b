// The words of a line of the scenario language: a verb, plain words, `key=value` words.
//
// Rules:
//  1. A word with a blank, a quote, `=` or nothing in it is written in double quotes
//     (`key="a b"`); in them stand `\"`, `\\` and `\n` for a quote, a backslash and a line's end.
//  2. Instants are counted from kEpoch, so that a scenario begins at `0s`; `5s`, `500ms`, `2m`.
//  3. Reading is strict: a word that was not asked for is an error, so a typo cannot pass a test.
//
// Values only, no thread rule.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event.hpp"
#include "core/instant.hpp"

namespace lastcall::simulation {

using lifecycle::Duration;
using lifecycle::Instant;

/// The instant that a scenario calls `0s`; not zero, so that an instant that was never set is seen.
inline constexpr Instant kEpoch = lifecycle::instant_from_ms(1'000'000);

struct ScenarioError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string text_of(Duration d);
std::string text_of(Instant at);
/// A number, or `ingress`.
std::string name_of(lifecycle::PeerId peer);
/// The text, in quotes where it needs them, as for a word that ends at one of `also`.
std::string quote_text(std::string_view text, std::string_view also = "");

lifecycle::PeerId parse_peer_id(std::string_view word);
Duration parse_duration(std::string_view word);
Instant parse_instant(std::string_view word);
bool parse_flag(std::string_view word);
std::string unquote_text(std::string_view word);
/// Takes what stands before the first `/` outside of quotes.
std::string_view take_part(std::string_view& word);

[[noreturn]] void refuse_number(std::string_view word);
template <std::integral T>
T parse_number(std::string_view word) {
  T value = 0;
  auto const result = std::from_chars(word.data(), word.data() + word.size(), value);
  if (result.ec != std::errc{} || result.ptr != word.data() + word.size()) {
    refuse_number(word);
  }
  return value;
}

/// Builds a line.
class Line {
 public:
  explicit Line(std::string_view verb) : text_(verb) {}
  Line& word(std::string_view word);
  Line& peer(lifecycle::PeerId id) { return word(name_of(id)); }
  Line& key(std::string_view key, std::string_view value);
  Line& key(std::string_view key, std::int64_t value) {
    return this->key(key, std::to_string(value));
  }
  Line& key(std::string_view key, Duration value) { return this->key(key, text_of(value)); }
  Line& key(std::string_view key, Instant value) { return this->key(key, text_of(value)); }
  /// Nothing when there is no value.
  template <typename T>
  Line& key(std::string_view name, std::optional<T> const& value) {
    return value ? key(name, *value) : *this;
  }
  Line& text(std::string_view name, std::string_view value) {
    return value.empty() ? *this : key(name, value);
  }
  Line& flag(std::string_view name, bool set) { return set ? word(name) : *this; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Takes a line apart. Words come as they are written, with their quotes, and are views of it.
class Words {
 public:
  explicit Words(std::string_view line);

  /// The next word without a key; an error when there is none.
  std::string_view next(std::string_view what);
  std::optional<std::string_view> next_if_any();
  bool flag(std::string_view name);
  std::vector<std::string_view> values(std::string_view key);
  /// Keeps a text for as long as the words are.
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }
  /// An error when words are left.
  void finish() const;

 private:
  struct Word {
    std::string_view key;
    std::string_view value;
  };
  std::vector<std::string_view> plain_;
  std::vector<Word> keyed_;
  std::deque<std::string> kept_;
};

}  // namespace lastcall::simulation
