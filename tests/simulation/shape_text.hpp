// A value as one line of the scenario language, and back: made of the value's shape, so that no
// event, action or setting has code of its own here.
//
//   LASTCALL_SHAPE(RequestBegun, "request_begun", "begin {peer} {id}", ...)
//   begin 1 r1 endpoint=generate admit
//
// Rules:
//  1. First what the shape's kLine names, in its order: `{member}` is the value alone and has to be
//     there (of a list: all its elements; of a bool: `member` or `not_member`; what may be absent:
//     `none`), `key={member}` is left out where it is absent or an empty text.
//  2. Then every other member that differs from its default, under its key in the log without the
//     `_ms`: `key=value`, of a list once for each element, a bool as `key` or `not_key`. Members of
//     a part (an engine's exit, limits) stand among those of the whole; in a list, or where it may
//     be absent, a part is one word with `/` between its members.
//  3. An instant that can not be absent is `now` by default.
//
// Values only, no thread rule.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/shapes.hpp"
#include "tests/simulation/words.hpp"

namespace lastcall::simulation {

/// A member in words, as they stand in a line.
struct MemberWords {
  enum class Kind : std::uint8_t { one, flag, optional, list };

  std::string_view key;
  Kind kind = Kind::one;
  std::vector<std::string> words;
};

/// The line of those members; `standard` are the same ones with their defaults.
std::string line_of(std::string_view pattern, std::vector<MemberWords> const& members,
                    std::vector<MemberWords> const& standard);
/// The words of each member in that line; absent: it keeps its default.
using Given = std::vector<std::optional<std::vector<std::string_view>>>;
Given words_given(Words& words, std::string_view pattern, std::vector<MemberWords> const& members);
/// `late_ms` is `late`: a line's durations and instants have their units.
std::string_view key_in_line(std::string_view key_in_log);

// --- one word ------------------------------------------------------------------------------------

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

/// Joins the members of a part.
struct PartWriter {
  std::string text;
  bool is_first = true;

  template <typename T>
  void operator()(std::string_view key, T const& value);
};

template <typename T>
std::string word_of(T const& value) {
  if constexpr (lifecycle::Shaped<T>) {
    PartWriter writer;
    lifecycle::Shape<T>::visit(value, writer);
    return std::move(writer.text);
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(lifecycle::name(value));
  } else if constexpr (std::same_as<T, lifecycle::PeerId>) {
    return name_of(value);
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    return quote_text(value);
  } else {
    return text_of(value);
  }
}

template <typename T>
void PartWriter::operator()(std::string_view /*key*/, T const& value) {
  if (!std::exchange(is_first, false)) {
    text += '/';
  }
  if constexpr (std::convertible_to<T, std::string_view>) {
    text += quote_text(value, "/");
  } else {
    text += word_of(value);
  }
}

template <typename T>
void read_word(Words& words, std::string_view word, T& value);

/// Takes the members of a part from its word, one after the other; the last ones may be missing.
struct PartReader {
  Words& words;
  std::string_view rest;

  template <typename T>
  void operator()(std::string_view /*key*/, T& value) {
    if (!rest.empty()) {
      read_word(words, take_part(rest), value);
    }
  }
};

template <typename T>
void read_word(Words& words, std::string_view word, T& value) {
  if constexpr (lifecycle::Shaped<T>) {
    PartReader reader{words, word};
    lifecycle::Shape<T>::visit(value, reader);
    if (!reader.rest.empty()) {
      throw ScenarioError("cannot read '" + std::string(word) + "': it has too many members");
    }
  } else if constexpr (std::same_as<T, std::string>) {
    value = unquote_text(word);
  } else if constexpr (std::same_as<T, std::string_view>) {
    value = words.keep(unquote_text(word));
  } else if constexpr (std::same_as<T, bool>) {
    value = parse_flag(word);
  } else if constexpr (std::is_enum_v<T>) {
    auto const known = lifecycle::parse_word<T>(word);
    if (!known) {
      throw ScenarioError("cannot read '" + std::string(word) + "': not a word of that set");
    }
    value = *known;
  } else if constexpr (std::same_as<T, lifecycle::PeerId>) {
    value = parse_peer_id(word);
  } else if constexpr (std::integral<T>) {
    value = parse_number<T>(word);
  } else if constexpr (std::same_as<T, Instant>) {
    value = parse_instant(word);
  } else {
    static_assert(std::same_as<T, Duration>);
    value = parse_duration(word);
  }
}

// --- all members of a value ----------------------------------------------------------------------

/// Visits the members of a shape, those of its parts among them.
template <typename Visit>
struct EachMember {
  Visit visit;

  template <typename T>
  void operator()(std::string_view key, T& value) {
    if constexpr (lifecycle::Shaped<std::remove_const_t<T>>) {
      lifecycle::Shape<std::remove_const_t<T>>::visit(value, *this);
    } else {
      visit(key, value);
    }
  }
};
template <typename T, typename Visit>
void for_each_member(T& value, Visit visit) {
  EachMember<Visit> each{std::move(visit)};
  lifecycle::Shape<std::remove_const_t<T>>::visit(value, each);
}

template <typename T>
std::vector<MemberWords> members_of(T const& value) {
  using Kind = MemberWords::Kind;
  std::vector<MemberWords> members;
  for_each_member(value, [&members]<typename M>(std::string_view key, M const& member) {
    MemberWords& m = members.emplace_back();
    m.key = key_in_line(key);
    if constexpr (kIsOptional<M>) {
      m.kind = Kind::optional;
      if (member) {
        m.words.push_back(word_of(*member));
      }
    } else if constexpr (kIsList<M>) {
      m.kind = Kind::list;
      for (auto const& element : member) {
        m.words.push_back(word_of(element));
      }
    } else {
      m.kind = std::same_as<M, bool> ? Kind::flag : Kind::one;
      m.words.push_back(word_of(member));
    }
  });
  return members;
}

template <typename T>
T default_at(Instant now) {
  T value{};
  for_each_member(value, [now]<typename M>(std::string_view /*key*/, M& member) {
    if constexpr (std::same_as<M, Instant>) {
      member = now;
    }
  });
  return value;
}

// --- lines ---------------------------------------------------------------------------------------

template <typename T>
std::string line_of(T const& value, Instant now) {
  return line_of(lifecycle::Shape<T>::kLine, members_of(value), members_of(default_at<T>(now)));
}

/// Views of the value are valid as long as the words are.
template <typename T>
T value_of(Words& words, Instant now) {
  T value = default_at<T>(now);
  Given const given = words_given(words, lifecycle::Shape<T>::kLine, members_of(value));
  std::size_t next = 0;
  for_each_member(value, [&]<typename M>(std::string_view /*key*/, M& member) {
    auto const& mine = given[next++];
    if (!mine) {
      return;
    }
    if constexpr (kIsOptional<M>) {
      member.reset();
      if (!mine->empty()) {
        read_word(words, mine->front(), member.emplace());
      }
    } else if constexpr (kIsList<M>) {
      member.clear();
      for (std::string_view const word : *mine) {
        read_word(words, word, member.emplace_back());
      }
    } else {
      read_word(words, mine->front(), member);
    }
  });
  words.finish();
  return value;
}

}  // namespace lastcall::simulation
