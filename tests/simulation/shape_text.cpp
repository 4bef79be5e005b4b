#include "tests/simulation/shape_text.hpp"

#include <algorithm>

namespace lastcall::simulation {
namespace {

using Kind = MemberWords::Kind;

constexpr std::string_view kAbsent = "none";

/// A word of a shape's kLine.
struct PatternWord {
  std::string_view literal;  // if no member is named
  std::string_view key;      // of `key={member}`
  std::string_view member;
};

std::vector<PatternWord> parts_of(std::string_view pattern) {
  std::vector<PatternWord> parts;
  while (!pattern.empty()) {
    std::size_t const end = std::min(pattern.find(' '), pattern.size());
    std::string_view const word = pattern.substr(0, end);
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
    std::size_t const brace = word.find('{');
    if (brace == std::string_view::npos) {
      parts.push_back({.literal = word, .key = {}, .member = {}});
    } else {
      parts.push_back({.literal = {},
                       .key = word.substr(0, brace == 0 ? 0 : brace - 1),
                       .member = word.substr(brace + 1, word.size() - brace - 2)});
    }
  }
  return parts;
}

std::size_t index_of(std::vector<MemberWords> const& members, std::string_view key) {
  auto const found = std::find_if(members.begin(), members.end(),
                                  [&](MemberWords const& m) { return m.key == key; });
  if (found == members.end()) {
    throw ScenarioError("the shape's line names '" + std::string(key) + "', which is no member");
  }
  return static_cast<std::size_t>(found - members.begin());
}

std::string flag_word(MemberWords const& member) {
  return (member.words.front() == "true" ? "" : "not_") + std::string(member.key);
}

void put(std::string& line, std::string_view key, std::string_view word) {
  line += line.empty() ? "" : " ";
  if (!key.empty()) {
    (line += key) += '=';
  }
  line += word;
}

void put_part(std::string& line, PatternWord const& part, MemberWords const& member) {
  if (member.kind == Kind::flag && part.key.empty()) {
    return put(line, {}, flag_word(member));
  }
  if (member.kind == Kind::optional && part.key.empty() && member.words.empty()) {
    return put(line, {}, kAbsent);
  }
  for (std::string const& word : member.words) {
    if (part.key.empty() || word != "\"\"") {
      put(line, part.key, word);
    }
  }
}

using WordList = std::vector<std::string_view>;

/// The words of `{member}`.
WordList take_plain(Words& words, MemberWords const& member) {
  if (member.kind == Kind::list) {
    WordList all;
    while (auto const word = words.next_if_any()) {
      all.push_back(*word);
    }
    return all;
  }
  std::string_view const word = words.next(member.key);
  if (member.kind == Kind::flag) {
    bool const is_not = word.starts_with("not_") && word.substr(4) == member.key;
    if (!is_not && word != member.key) {
      throw ScenarioError("cannot read '" + std::string(word) + "': expected " +
                          std::string(member.key) + " or not_" + std::string(member.key));
    }
    return {is_not ? "false" : "true"};
  }
  return member.kind == Kind::optional && word == kAbsent ? WordList{} : WordList{word};
}

/// The words of `key=...`, or of a flag.
std::optional<WordList> take_keyed(Words& words, std::string_view key, MemberWords const& member) {
  if (member.kind == Kind::flag) {
    bool const is_set = words.flag(key);
    bool const is_unset = words.flag("not_" + std::string(key));
    return is_set || is_unset ? std::optional(WordList{is_set ? "true" : "false"}) : std::nullopt;
  }
  WordList values = words.values(key);
  if (values.size() > 1 && member.kind != Kind::list) {
    throw ScenarioError("cannot read the line: '" + std::string(key) + "' stands there twice");
  }
  return values.empty() ? std::nullopt : std::optional(std::move(values));
}

}  // namespace

std::string_view key_in_line(std::string_view key_in_log) {
  return key_in_log.ends_with("_ms") ? key_in_log.substr(0, key_in_log.size() - 3) : key_in_log;
}

std::string line_of(std::string_view pattern, std::vector<MemberWords> const& members,
                    std::vector<MemberWords> const& standard) {
  std::string line;
  std::vector<bool> done(members.size());
  for (PatternWord const& part : parts_of(pattern)) {
    if (part.member.empty()) {
      put(line, {}, part.literal);
    } else {
      std::size_t const index = index_of(members, part.member);
      done[index] = true;
      put_part(line, part, members[index]);
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    MemberWords const& member = members[i];
    if (done[i] || member.words == standard[i].words) {
      continue;
    }
    if (member.kind == Kind::flag) {
      put(line, {}, flag_word(member));
      continue;
    }
    for (std::string const& word : member.words) {
      put(line, member.key, word);
    }
  }
  return line;
}

Given words_given(Words& words, std::string_view pattern, std::vector<MemberWords> const& members) {
  Given given(members.size());
  std::vector<bool> done(members.size());
  for (PatternWord const& part : parts_of(pattern)) {
    if (part.member.empty()) {
      if (auto const word = words.next(part.literal); word != part.literal) {
        throw ScenarioError("cannot read '" + std::string(word) + "': expected '" +
                            std::string(part.literal) + "'");
      }
      continue;
    }
    std::size_t const index = index_of(members, part.member);
    done[index] = true;
    if (part.key.empty()) {
      given[index] = take_plain(words, members[index]);
    } else {
      given[index] = take_keyed(words, part.key, members[index]);
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!done[i]) {
      given[i] = take_keyed(words, members[i].key, members[i]);
    }
  }
  return given;
}

}  // namespace lastcall::simulation
