// The words of a line of the scenario language: a verb, plain words, `key=value` words.
//
// Rules:
//  1. A word with a blank, a quote or nothing in it is written in double quotes (`key="a b"`).
//  2. Instants are counted from kEpoch, so that a scenario begins at `0s`; `5s`, `500ms`, `2m`.
//  3. Reading is strict: a word that nobody asked for is an error, so a typo cannot pass a test.
//
// Values only, no thread rule.
#pragma once

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

/// What a scenario calls `0s`; not zero, so that an instant that was never set is seen.
inline constexpr Instant kEpoch = lifecycle::instant_from_ms(1'000'000);

struct ScenarioError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string text_of(Duration d);
std::string text_of(Instant at);
/// A number, or `ingress`.
std::string name_of(lifecycle::PeerId peer);
lifecycle::PeerId parse_peer_id(std::string_view word);
Duration parse_duration(std::string_view word);
Instant parse_instant(std::string_view word);

/// Builds a line.
class Line {
 public:
  explicit Line(std::string_view verb) : text_(verb) {}
  Line& word(std::string_view word);
  Line& number(std::uint64_t value) { return word(std::to_string(value)); }
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
  void put(std::string_view word);
  std::string text_;
};

/// Takes a line apart.
class Words {
 public:
  explicit Words(std::string_view line);

  /// The next plain word; an error when there is none.
  std::string next(char const* what);
  std::optional<std::string> next_if_any();
  std::uint64_t next_number(char const* what);
  lifecycle::PeerId next_peer() { return parse_peer_id(next("the peer")); }
  std::optional<lifecycle::PeerId> peer(std::string_view key);
  bool flag(std::string_view name);
  std::optional<std::string> key(std::string_view name);
  std::string text(std::string_view name) { return key(name).value_or(""); }
  std::optional<Duration> duration(std::string_view name);
  std::optional<Instant> instant(std::string_view name);
  std::optional<std::int64_t> number(std::string_view name);
  /// An error when words are left.
  void finish() const;

 private:
  std::vector<std::string> plain_;
  std::vector<std::pair<std::string, std::string>> keyed_;
};

}  // namespace lastcall::simulation
