#include "tests/simulation/words.hpp"

#include <algorithm>
#include <charconv>

namespace lastcall::simulation {
namespace {

std::int64_t parse_integer(std::string_view word, std::string_view whole) {
  std::int64_t value = 0;
  auto const result = std::from_chars(word.data(), word.data() + word.size(), value);
  if (result.ec != std::errc{} || result.ptr != word.data() + word.size()) {
    throw ScenarioError("cannot read '" + std::string(whole) + "' as a number");
  }
  return value;
}

/// Reads one word from the front of `rest`; quotes may stand at its begin or after its `=`.
std::string take_word(std::string_view& rest, std::size_t& equals) {
  std::string word;
  equals = std::string::npos;
  bool quoted = false;
  while (!rest.empty() && (quoted || rest.front() != ' ')) {
    char const c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') {
      quoted = !quoted;
    } else {
      if (c == '=' && !quoted && equals == std::string::npos) {
        equals = word.size();
      }
      word += c;
    }
  }
  if (quoted) {
    throw ScenarioError("cannot read a word: its quote does not end");
  }
  return word;
}

}  // namespace

std::string text_of(Duration d) {
  auto const ms = d.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + "s" : std::to_string(ms) + "ms";
}

std::string text_of(Instant at) {
  return text_of(at - kEpoch);
}

std::string name_of(lifecycle::PeerId peer) {
  return peer == lifecycle::kIngressPeer ? "ingress" : std::to_string(peer);
}

lifecycle::PeerId parse_peer_id(std::string_view word) {
  return word == "ingress" ? lifecycle::kIngressPeer
                           : static_cast<lifecycle::PeerId>(parse_integer(word, word));
}

Duration parse_duration(std::string_view word) {
  auto const unit = word.find_first_not_of("-0123456789");
  std::string_view const name = unit == std::string_view::npos ? "" : word.substr(unit);
  auto const value = parse_integer(word.substr(0, unit), word);
  if (name == "ms") {
    return Duration{value};
  }
  if (name == "s") {
    return Duration{value * 1000};
  }
  if (name == "m") {
    return Duration{value * 60'000};
  }
  throw ScenarioError("cannot read '" + std::string(word) + "' as a duration, such as 5s or 500ms");
}

Instant parse_instant(std::string_view word) {
  return kEpoch + parse_duration(word);
}

void Line::put(std::string_view word) {
  bool const plain = !word.empty() && word.find_first_of(" \"=\n") == std::string_view::npos;
  if (plain) {
    text_ += word;
    return;
  }
  text_ += '"';
  for (char const c : word) {
    if (c == '\n') {
      text_ += "\\n";
    } else if (c != '"') {
      text_ += c;
    }
  }
  text_ += '"';
}

Line& Line::word(std::string_view word) {
  text_ += ' ';
  put(word);
  return *this;
}

Line& Line::key(std::string_view key, std::string_view value) {
  ((text_ += ' ') += key) += '=';
  put(value);
  return *this;
}

Words::Words(std::string_view line) {
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) {
      return;
    }
    std::size_t equals = 0;
    std::string word = take_word(line, equals);
    if (equals == std::string::npos) {
      plain_.push_back(std::move(word));
    } else {
      keyed_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
  }
}

std::optional<std::string> Words::next_if_any() {
  if (plain_.empty()) {
    return std::nullopt;
  }
  std::string word = std::move(plain_.front());
  plain_.erase(plain_.begin());
  return word;
}

std::string Words::next(char const* what) {
  auto word = next_if_any();
  if (!word) {
    throw ScenarioError(std::string("cannot read the line: ") + what + " is missing");
  }
  return *std::move(word);
}

std::uint64_t Words::next_number(char const* what) {
  std::string const word = next(what);
  return static_cast<std::uint64_t>(parse_integer(word, word));
}

bool Words::flag(std::string_view name) {
  auto const found = std::find(plain_.begin(), plain_.end(), name);
  if (found == plain_.end()) {
    return false;
  }
  plain_.erase(found);
  return true;
}

std::optional<std::string> Words::key(std::string_view name) {
  auto const found = std::find_if(keyed_.begin(), keyed_.end(),
                                  [&](auto const& pair) { return pair.first == name; });
  if (found == keyed_.end()) {
    return std::nullopt;
  }
  std::string value = std::move(found->second);
  keyed_.erase(found);
  return value;
}

std::optional<Duration> Words::duration(std::string_view name) {
  auto const word = key(name);
  return word ? std::optional(parse_duration(*word)) : std::nullopt;
}

std::optional<Instant> Words::instant(std::string_view name) {
  auto const word = key(name);
  return word ? std::optional(parse_instant(*word)) : std::nullopt;
}

std::optional<std::int64_t> Words::number(std::string_view name) {
  auto const word = key(name);
  return word ? std::optional(parse_integer(*word, *word)) : std::nullopt;
}

std::optional<lifecycle::PeerId> Words::peer(std::string_view name) {
  auto const word = key(name);
  return word ? std::optional(parse_peer_id(*word)) : std::nullopt;
}

void Words::finish() const {
  if (!plain_.empty()) {
    throw ScenarioError("cannot read the line: nobody knows the word '" + plain_.front() + "'");
  }
  if (!keyed_.empty()) {
    throw ScenarioError("cannot read the line: nobody knows the key '" + keyed_.front().first +
                        "'");
  }
}

}  // namespace lastcall::simulation
