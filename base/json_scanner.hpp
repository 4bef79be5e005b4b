// One pass over a text that checks it and hands out views of its parts. Internal to
// json_reader.cpp.
//
// Rules:
//  1. The first error is kept, and nothing is handed out after it.
//  2. Recursion ends at kMaxDepth, whatever the text is.
//
// Pure, no thread rule. Source: RFC 8259.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/json_escape.hpp"
#include "base/json_reader.hpp"
#include "base/utf8.hpp"

namespace lastcall::json {

/// Marks the bytes that a string may hold unchanged; all others need a closer look.
constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) {
    plain[c] = c != '"' && c != '\\';
  }
  return plain;
}
inline constexpr auto kPlain = make_plain();

/// One pass over a text; the first error is kept.
class Scanner {
 public:
  explicit Scanner(std::string_view text)
      : begin_(text.data()), p_(text.data()), end_(text.data() + text.size()) {}

  std::optional<SyntaxError> error() const { return error_; }

  /// Empties the lists of `inner` and of what is further in.
  static void forget(std::span<Inner> inner) {
    for (Inner& each : inner) {
      each.members->clear();
      each.elements = 0;
      each.kind = Kind::null;
      forget(each.inner);
    }
  }

  /// Appends the members of an object.
  void list(int depth, std::vector<Member>& members, std::span<Inner> inner) {
    constexpr std::size_t kUsual = 8;
    members.reserve(kUsual);
    object(depth, inner, [&members](Value const& key, Value const& value) {
      members.push_back({key.escaped, key.text, value});
    });
  }

  template <typename Sink>
  void object(int depth, std::span<Inner> inner, Sink&& sink) {
    if (!take('{', "a JSON object")) {
      return;
    }
    skip_space();
    if (peek('}')) {
      ++p_;
      return;
    }
    while (!error_) {
      skip_space();
      if (!peek('"')) {
        return fail("a key in double quotes");
      }
      Value const key = string();
      skip_space();
      if (error_ || !take(':', "':' after a key")) {
        return;
      }
      Value const found = value_of(key.text, depth, inner);
      if (error_) {
        return;
      }
      sink(key, found);
      if (!more('}', "',' or '}' after a value")) {
        return;
      }
    }
  }

  template <typename Sink>
  void array(int depth, Sink&& sink) {
    elements([this, depth] { return value(depth); }, sink);
  }

  template <typename Read, typename Sink>
  void elements(Read&& read, Sink&& sink) {
    if (!take('[', "a JSON array")) {
      return;
    }
    skip_space();
    if (peek(']')) {
      ++p_;
      return;
    }
    while (!error_) {
      Value const found = read();
      if (error_) {
        return;
      }
      sink(found);
      if (!more(']', "',' or ']' after a value")) {
        return;
      }
    }
  }

  Value value(int depth) {
    skip_space();
    if (p_ == end_) {
      fail("a value");
      return {};
    }
    char const* const start = p_;
    auto const ignore = [](auto const&...) {};
    switch (*p_) {
      case '"':
        return string();
      case '{':
      case '[': {
        Kind const kind = *p_ == '{' ? Kind::object : Kind::array;
        if (depth >= kMaxDepth) {
          fail("fewer levels of nesting");
        } else if (kind == Kind::object) {
          object(depth + 1, {}, ignore);
        } else {
          array(depth + 1, ignore);
        }
        return {kind, false, since(start)};
      }
      case 't':
        return word("true", Kind::boolean);
      case 'f':
        return word("false", Kind::boolean);
      case 'n':
        return word("null", Kind::null);
      default:
        number();
        return {Kind::number, false, since(start)};
    }
  }

  void end() {
    skip_space();
    if (!error_ && p_ != end_) {
      fail("the end of the line");
    }
  }

  void skip_space() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\t' || *p_ == '\r' || *p_ == '\n')) {
      ++p_;
    }
  }

 private:
  Value value_of(std::string_view key, int depth, std::span<Inner> inner) {
    for (Inner& each : inner) {
      if (each.key == key) {
        forget({&each, 1});  // of several members of this key the last one counts
        return each.place == Inner::Place::value ? inner_value(depth, each)
                                                 : inner_array(depth, each);
      }
    }
    return value(depth);
  }

  Value inner_value(int depth, Inner& inner) {
    skip_space();
    char const* const start = p_;
    bool const is_object = peek('{') && depth < kMaxDepth;
    if (is_object) {
      list(depth + 1, *inner.members, inner.inner);
    }
    Value const found = is_object ? Value{Kind::object, false, since(start)} : value(depth);
    inner.kind = found.kind;
    return found;
  }

  Value inner_array(int depth, Inner& inner) {
    skip_space();
    char const* const start = p_;
    if (!peek('[') || depth >= kMaxDepth) {
      return value(depth);
    }
    elements(
        [&] { return inner.elements++ == 0 ? inner_value(depth + 1, inner) : value(depth + 1); },
        [](Value const&) {});
    return {Kind::array, false, since(start)};
  }

  std::string_view since(char const* start) const {
    return {start, static_cast<std::size_t>(p_ - start)};
  }
  std::string_view rest() const { return {p_, static_cast<std::size_t>(end_ - p_)}; }
  bool peek(char c) const { return p_ != end_ && *p_ == c; }

  void fail(char const* expected) {
    if (!error_) {
      error_ = SyntaxError{static_cast<std::size_t>(p_ - begin_), expected};
    }
  }

  bool take(char c, char const* expected) {
    if (!peek(c)) {
      fail(expected);
      return false;
    }
    ++p_;
    return true;
  }

  /// After an element: true when another one follows.
  bool more(char close, char const* expected) {
    skip_space();
    if (peek(',')) {
      ++p_;
      return true;
    }
    take(close, expected);
    return false;
  }

  void skip_plain() {
    char const* p = p_;
    while (p != end_ && kPlain[utf8::byte_of(*p)]) {
      ++p;
    }
    p_ = p;
  }

  Value string() {
    char const* const start = ++p_;  // past the opening quote
    bool escaped = false;
    while (true) {
      skip_plain();
      if (p_ == end_) {
        break;
      }
      if (*p_ == '"') {
        Value const found{Kind::string, escaped, since(start)};
        ++p_;
        return found;
      } else if (*p_ == '\\') {
        escaped = true;
        escape();
      } else if (utf8::byte_of(*p_) < 0x20) {
        fail("an escape instead of a control character");
      } else if (std::size_t const length = utf8::sequence_length(rest())) {
        p_ += length;
      } else {
        fail("valid UTF-8");
      }
      if (error_) {
        return {};
      }
    }
    fail("a closing quote");
    return {};
  }

  void escape() {
    ++p_;  // past the backslash
    if (p_ != end_ && *p_ != 'u' &&
        std::string_view("\"\\/bfnrt").find(*p_) != std::string_view::npos) {
      ++p_;
      return;
    }
    if (!peek('u') || !is_hex4(p_ + 1)) {
      return fail("an escape that JSON knows");
    }
    unsigned const unit = hex4(p_ + 1);
    p_ += 5;
    if (is_high_surrogate(unit)) {
      if (end_ - p_ < 6 || p_[0] != '\\' || p_[1] != 'u' || !is_hex4(p_ + 2) ||
          !is_low_surrogate(hex4(p_ + 2))) {
        return fail("the second half of a surrogate pair");
      }
      p_ += 6;
    } else if (is_low_surrogate(unit)) {
      fail("no lone surrogate");
    }
  }

  bool is_hex4(char const* digits) const {
    if (end_ - digits < 4) {
      return false;
    }
    for (int i = 0; i < 4; ++i) {
      if (hex_value(digits[i]) < 0) {
        return false;
      }
    }
    return true;
  }

  Value word(std::string_view expected, Kind kind) {
    if (!rest().starts_with(expected)) {
      fail("a value");
      return {};
    }
    char const* const start = p_;
    p_ += expected.size();
    return {kind, false, since(start)};
  }

  void digits() {
    if (p_ == end_ || !is_digit(*p_)) {
      return fail("a digit");
    }
    while (p_ != end_ && is_digit(*p_)) {
      ++p_;
    }
  }

  void number() {
    if (peek('-')) {
      ++p_;
    } else if (!is_digit(*p_)) {
      return fail("a value");
    }
    if (peek('0')) {
      ++p_;
    } else {
      digits();
    }
    if (peek('.')) {
      ++p_;
      digits();
    }
    if (peek('e') || peek('E')) {
      ++p_;
      if (peek('+') || peek('-')) {
        ++p_;
      }
      digits();
    }
  }

  char const* begin_;
  char const* p_;
  char const* end_;
  std::optional<SyntaxError> error_;
};

}  // namespace lastcall::json
