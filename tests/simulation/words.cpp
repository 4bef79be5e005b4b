#include "tests/simulation/words.hpp"

#include <algorithm>

namespace lastcall::simulation {
namespace {

/// The place of `mark` outside of quotes; npos: nowhere.
std::size_t find_outside(std::string_view text, char mark) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted && text[i] == '\\') {
      ++i;
    } else if (!is_quoted && text[i] == mark) {
      return i;
    }
  }
  if (is_quoted) {
    throw ScenarioError("cannot read a word: its quote does not end");
  }
  return std::string_view::npos;
}

/// Takes what is before the mark.
std::string_view take_until(std::string_view& rest, char mark) {
  std::size_t const end = std::min(find_outside(rest, mark), rest.size());
  std::string_view const taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
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

std::string quote_text(std::string_view text, std::string_view also) {
  if (!text.empty() && text.find_first_of(" \"=\n\\") == std::string_view::npos &&
      text.find_first_of(also) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "\"";
  for (char const c : text) {
    word += c == '"' || c == '\\' ? "\\" : "";
    word += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return word + '"';
}

std::string unquote_text(std::string_view word) {
  std::string text;
  bool is_quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted && word[i] == '\\' && i + 1 < word.size()) {
      text += word[++i] == 'n' ? '\n' : word[i];
    } else {
      text += word[i];
    }
  }
  return text;
}

std::string_view take_part(std::string_view& word) {
  return take_until(word, '/');
}

void refuse_number(std::string_view word) {
  throw ScenarioError("cannot read '" + std::string(word) + "' as a number that fits");
}

lifecycle::PeerId parse_peer_id(std::string_view word) {
  return word == "ingress" ? lifecycle::kIngressPeer : parse_number<lifecycle::PeerId>(word);
}

Duration parse_duration(std::string_view word) {
  auto const unit = word.find_first_not_of("-0123456789");
  std::string_view const name = unit == std::string_view::npos ? "" : word.substr(unit);
  auto const value = parse_number<std::int64_t>(word.substr(0, unit));
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

bool parse_flag(std::string_view word) {
  if (word != "true" && word != "false") {
    throw ScenarioError("cannot read '" + std::string(word) + "': expected true or false");
  }
  return word == "true";
}

Line& Line::word(std::string_view word) {
  (text_ += ' ') += quote_text(word);
  return *this;
}

Line& Line::key(std::string_view key, std::string_view value) {
  (((text_ += ' ') += key) += '=') += quote_text(value);
  return *this;
}

Words::Words(std::string_view line) {
  while (!line.empty()) {
    std::string_view word = take_until(line, ' ');
    if (word.empty()) {
      continue;
    }
    if (find_outside(word, '=') == std::string_view::npos) {
      plain_.push_back(word);
    } else {
      std::string_view const key = take_until(word, '=');
      keyed_.push_back({.key = key, .value = word});
    }
  }
}

std::optional<std::string_view> Words::next_if_any() {
  if (plain_.empty()) {
    return std::nullopt;
  }
  std::string_view const word = plain_.front();
  plain_.erase(plain_.begin());
  return word;
}

std::string_view Words::next(std::string_view what) {
  auto const word = next_if_any();
  if (!word) {
    throw ScenarioError("cannot read the line: " + std::string(what) + " is missing");
  }
  return *word;
}

bool Words::flag(std::string_view name) {
  return std::erase(plain_, name) > 0;
}

std::vector<std::string_view> Words::values(std::string_view key) {
  std::vector<std::string_view> values;
  for (Word const& word : keyed_) {
    if (word.key == key) {
      values.push_back(word.value);
    }
  }
  std::erase_if(keyed_, [&](Word const& word) { return word.key == key; });
  return values;
}

void Words::finish() const {
  if (!plain_.empty()) {
    throw ScenarioError("cannot read the line: nobody knows the word '" +
                        std::string(plain_.front()) + "'");
  }
  if (!keyed_.empty()) {
    throw ScenarioError("cannot read the line: nobody knows the key '" +
                        std::string(keyed_.front().key) + "'");
  }
}

}  // namespace lastcall::simulation
