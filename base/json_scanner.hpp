// One pass over a text that checks it and hands out views of its parts. Internal to
// json_reader.cpp.
//
// Rules:
//  1. The first error is kept, and nothing is handed out after it.
//  2. Recursion ends at kMaxDepth, whatever the text is.
//
// Pure, no thread rule. Source: RFC 8259.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/json_escape.hpp"
#include "base/json_plain.hpp"
#include "base/json_reader.hpp"
#include "base/utf8.hpp"

namespace lastcall::json {

/// The one that lists what this member holds, or null.
template <class One>
One* wanted_of(std::span<One> inner, std::string_view key) {
  for (One& each : inner) {
    if (each.key == key) {
      return &each;
    }
  }
  return nullptr;
}

/// Empties the lists of `inner` and of what is further in.
inline void forget(std::span<Inner> inner) {
  for (Inner& each : inner) {
    each.members->clear();
    each.elements = 0;
    each.kind = Kind::null;
    forget(each.inner);
  }
}

/// The end of a string.
struct Quote {
  char const* at;  // null after an error
  bool escaped;    // there was a backslash before it
};

/// One pass over a text. A function that reads a part takes the place where it begins and returns
/// the place after it, or null after an error. The first error is kept.
class Scanner {
 public:
  /// A list that is handed out has at most `most` entries.
  explicit Scanner(std::string_view text, std::size_t most = kAnyNumber)
      : begin_(text.data()), end_(text.data() + text.size()), most_(most) {}

  std::optional<SyntaxError> error() const { return error_; }

  char const* begin() const { return begin_; }

  /// Reads an object, and appends its members.
  char const* list(char const* p, int depth, std::vector<Member>& members, std::span<Inner> inner) {
    constexpr std::size_t kUsual = 8;
    members.reserve(kUsual);
    return object(p, depth, &members, inner);
  }

  /// Reads an array, and appends its elements if `all` is not null. The first one is `first`, if
  /// that is not null.
  char const* array(char const* p, int depth, std::vector<Value>* all, Inner* first) {
    if (!is_at(p, '[')) {
      return fail(p, "a JSON array");
    }
    p = past_space(p + 1);
    if (is_at(p, ']')) {
      return p + 1;
    }
    while (true) {
      Value element;
      bool const is_inner = first != nullptr && first->elements++ == 0;
      p = is_inner ? inner_value(p, depth, *first, element) : value(p, depth, element);
      if (p == nullptr) {
        return nullptr;
      }
      if (all != nullptr) {
        if (all->size() >= most_) {
          return fail(p, "fewer elements");
        }
        all->push_back(element);
      }
      if (!reaches(p, ',')) {
        return is_at(p, ']') ? p + 1 : fail(p, "',' or ']' after a value");
      }
      ++p;
    }
  }

  char const* value(char const* p, int depth, Value& found) {
    p = past_space(p);
    if (p == end_) {
      return fail(p, "a value");
    }
    switch (*p) {
      case '"':
        return string(p, found);
      case '{':
      case '[':
        return nested(p, depth, found);
      case 't':
        return word(p, "true", Kind::boolean, found);
      case 'f':
        return word(p, "false", Kind::boolean, found);
      case 'n':
        return word(p, "null", Kind::null, found);
      default:
        return number(p, found);
    }
  }

  void end(char const* p) {
    if (p != nullptr && past_space(p) != end_) {
      fail(past_space(p), "the end of the line");
    }
  }

  char const* past_space(char const* p) const {
    while (p != end_ && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')) {
      ++p;
    }
    return p;
  }

 private:
  /// Appends the members if `members` is not null.
  char const* object(char const* p, int depth, std::vector<Member>* members,
                     std::span<Inner> inner) {
    if (!is_at(p, '{')) {
      return fail(p, "a JSON object");
    }
    p = past_space(p + 1);
    if (is_at(p, '}')) {
      return p + 1;
    }
    Member unlisted;
    while (true) {
      if (!reaches(p, '"')) {
        return fail(p, "a key in double quotes");
      }
      char const* const key = p + 1;
      Quote const quote = closing_quote(key);
      if (quote.at == nullptr) {
        return nullptr;
      }
      p = quote.at + 1;
      if (!reaches(p, ':')) {
        return fail(p, "':' after a key");
      }
      ++p;
      if (members != nullptr && members->size() >= most_) {
        return fail(key - 1, "fewer members");
      }
      // It is read where it stays: copies of what was just written in parts are slow.
      Member& member = members != nullptr ? members->emplace_back() : unlisted;
      member.key_escaped = quote.escaped;
      member.key = between(key, quote.at);
      Inner* const wanted = wanted_of(inner, member.key);
      p = wanted == nullptr ? value(p, depth, member.value)
                            : wanted_value(p, depth, *wanted, member.value);
      if (p == nullptr) {
        if (members != nullptr) {
          members->pop_back();
        }
        return nullptr;
      }
      if (!reaches(p, ',')) {
        return is_at(p, '}') ? p + 1 : fail(p, "',' or '}' after a value");
      }
      ++p;
    }
  }

  char const* wanted_value(char const* p, int depth, Inner& inner, Value& found) {
    if (inner.kind != Kind::null || inner.elements > 0) {
      forget({&inner, 1});  // of several members of this key the last one counts
    }
    return inner.place == Inner::Place::value ? inner_value(p, depth, inner, found)
                                              : inner_array(p, depth, inner, found);
  }

  char const* inner_value(char const* p, int depth, Inner& inner, Value& found) {
    p = past_space(p);
    char const* after = nullptr;
    if (is_at(p, '{') && depth < kMaxDepth) {
      after = list(p, depth + 1, *inner.members, inner.inner);
      found = {Kind::object, false, between(p, after)};
    } else {
      after = value(p, depth, found);
    }
    inner.kind = found.kind;
    return after;
  }

  char const* inner_array(char const* p, int depth, Inner& inner, Value& found) {
    p = past_space(p);
    if (!is_at(p, '[') || depth >= kMaxDepth) {
      return value(p, depth, found);
    }
    char const* const after = array(p, depth + 1, nullptr, &inner);
    found = {Kind::array, false, between(p, after)};
    return after;
  }

  char const* nested(char const* p, int depth, Value& found) {
    if (depth >= kMaxDepth) {
      return fail(p, "fewer levels of nesting");
    }
    bool const is_object = *p == '{';
    char const* const after =
        is_object ? object(p, depth + 1, nullptr, {}) : array(p, depth + 1, nullptr, nullptr);
    found = {is_object ? Kind::object : Kind::array, false, between(p, after)};
    return after;
  }

  static std::string_view between(char const* p, char const* after) {
    return {p, after != nullptr ? static_cast<std::size_t>(after - p) : 0};
  }
  bool is_at(char const* p, char c) const { return p != end_ && *p == c; }
  /// Whether `c` comes next; `p` is moved there, past white space.
  bool reaches(char const*& p, char c) const {
    if (is_at(p, c)) {
      return true;
    }
    p = past_space(p);
    return is_at(p, c);
  }

  char const* fail(char const* p, char const* expected) {
    error_ = SyntaxError{static_cast<std::size_t>(p - begin_), expected};
    return nullptr;
  }

  char const* string(char const* p, Value& found) {
    char const* const begin = p + 1;
    Quote const quote = closing_quote(begin);
    if (quote.at == nullptr) {
      return nullptr;
    }
    found = {Kind::string, quote.escaped, between(begin, quote.at)};
    return quote.at + 1;
  }

  /// Finds the end of the string that begins at `p`. Most strings are plain.
  Quote closing_quote(char const* p) {
    p = past_plain(p, end_);
    return is_at(p, '"') ? Quote{p, false} : closing_quote_after(p);
  }

  /// The same, from a byte on that is not plain.
  Quote closing_quote_after(char const* p) {
    bool escaped = false;
    for (; !is_at(p, '"'); p = past_plain(p, end_)) {
      escaped = escaped || is_at(p, '\\');
      p = past_unusual(p);
      if (p == nullptr) {
        return {nullptr, escaped};
      }
    }
    return {p, escaped};
  }

  /// Reads what is not plain, and not the closing quote.
  char const* past_unusual(char const* p) {
    if (p == end_) {
      return fail(p, "a closing quote");
    }
    if (*p == '\\') {
      return past_escape(p + 1);
    }
    if (utf8::byte_of(*p) < 0x20) {
      return fail(p, "an escape instead of a control character");
    }
    std::size_t const length = utf8::sequence_length({p, static_cast<std::size_t>(end_ - p)});
    return length > 0 ? p + length : fail(p, "valid UTF-8");
  }

  char const* past_escape(char const* p) {
    if (p != end_ && *p != 'u' &&
        std::string_view("\"\\/bfnrt").find(*p) != std::string_view::npos) {
      return p + 1;
    }
    if (!is_at(p, 'u') || !is_hex4(p + 1)) {
      return fail(p, "an escape that JSON knows");
    }
    unsigned const unit = hex4(p + 1);
    p += 5;
    if (is_high_surrogate(unit)) {
      bool const has_other = end_ - p >= 6 && p[0] == '\\' && p[1] == 'u' && is_hex4(p + 2) &&
                             is_low_surrogate(hex4(p + 2));
      return has_other ? p + 6 : fail(p, "the second half of a surrogate pair");
    }
    return is_low_surrogate(unit) ? fail(p, "no lone surrogate") : p;
  }

  bool is_hex4(char const* digits) const {
    return end_ - digits >= 4 &&
           std::all_of(digits, digits + 4, [](char c) { return hex_value(c) >= 0; });
  }

  char const* word(char const* p, std::string_view expected, Kind kind, Value& found) {
    if (!std::string_view(p, static_cast<std::size_t>(end_ - p)).starts_with(expected)) {
      return fail(p, "a value");
    }
    found = {kind, false, {p, expected.size()}};
    return p + expected.size();
  }

  char const* past_digits(char const* p) {
    if (p == end_ || !is_digit(*p)) {
      return fail(p, "a digit");
    }
    while (p != end_ && is_digit(*p)) {
      ++p;
    }
    return p;
  }

  char const* number(char const* p, Value& found) {
    char const* const start = p;
    if (*p == '-') {
      ++p;
    } else if (!is_digit(*p)) {
      return fail(p, "a value");
    }
    p = is_at(p, '0') ? p + 1 : past_digits(p);
    if (p != nullptr && is_at(p, '.')) {
      p = past_digits(p + 1);
    }
    if (p != nullptr && (is_at(p, 'e') || is_at(p, 'E'))) {
      ++p;
      p = past_digits(is_at(p, '+') || is_at(p, '-') ? p + 1 : p);
    }
    if (p != nullptr) {
      found = {Kind::number, false, between(start, p)};
    }
    return p;
  }

  char const* begin_;
  char const* end_;
  std::size_t most_;
  std::optional<SyntaxError> error_;
};

}  // namespace lastcall::json
