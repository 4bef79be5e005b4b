#include "shim/json.hpp"

#include <algorithm>

#include "base/json_escape.hpp"
#include "base/utf8.hpp"

namespace lastcall::shim::json {
namespace {

constexpr int kDeepest = 32;

using lastcall::json::hex4;
using lastcall::json::is_digit;
using lastcall::json::is_high_surrogate;
using lastcall::json::is_low_surrogate;

/// Walks over a text. Every method leaves the place after what it has read, or returns false.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  std::size_t place() const { return at_; }
  std::string_view since(std::size_t start) const { return text_.substr(start, at_ - start); }

  void skip_space() {
    while (!at_end() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  bool take(char c) {
    if (at_end() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }

  bool skip_string() {
    if (!take('"')) {
      return false;
    }
    while (!at_end()) {
      char const c = text_[at_++];
      if (c == '"') {
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20 || (c == '\\' && !skip_escape())) {
        return false;
      }
    }
    return false;
  }

  bool skip_value(int depth) {
    if (at_end() || depth > kDeepest) {
      return false;
    }
    switch (text_[at_]) {
      case '{':
        return skip_container('{', '}', depth);
      case '[':
        return skip_container('[', ']', depth);
      case '"':
        return skip_string();
      case 't':
        return skip_word("true");
      case 'f':
        return skip_word("false");
      case 'n':
        return skip_word("null");
      default:
        return skip_number();
    }
  }

 private:
  bool skip_escape() {
    if (at_end()) {
      return false;
    }
    char const c = text_[at_++];
    if (c != 'u') {
      return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    }
    // Half of a surrogate pair is not a character, and a peer that decodes it refuses the line.
    std::optional<unsigned> const unit = take_unit();
    if (!unit || !is_high_surrogate(*unit)) {
      return unit && !is_low_surrogate(*unit);
    }
    if (!take('\\') || !take('u')) {
      return false;
    }
    std::optional<unsigned> const other = take_unit();
    return other && is_low_surrogate(*other);
  }

  std::optional<unsigned> take_unit() {
    std::string_view const digits = text_.substr(at_, 4);
    bool const is_good =
        digits.size() == 4 && std::all_of(digits.begin(), digits.end(),
                                          [](char c) { return lastcall::json::hex_value(c) >= 0; });
    at_ += digits.size();
    return is_good ? std::optional(hex4(digits.data())) : std::nullopt;
  }

  bool skip_container(char open, char close, int depth) {
    take(open);
    skip_space();
    if (take(close)) {
      return true;
    }
    do {
      skip_space();
      if (open == '{') {
        if (!skip_string()) {
          return false;
        }
        skip_space();
        if (!take(':')) {
          return false;
        }
        skip_space();
      }
      if (!skip_value(depth + 1)) {
        return false;
      }
      skip_space();
    } while (take(','));
    return take(close);
  }

  bool skip_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  bool skip_digits() {
    std::size_t const start = at_;
    while (!at_end() && is_digit(text_[at_])) {
      ++at_;
    }
    return at_ > start;
  }

  bool skip_number() {
    take('-');
    if (!take('0') && !skip_digits()) {
      return false;
    }
    if (take('.') && !skip_digits()) {
      return false;
    }
    if (take('e') || take('E')) {
      if (!take('+')) {
        take('-');
      }
      return skip_digits();
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool same_key(std::string_view raw, std::string_view key) {
  TextOf<64> name;
  return decode_string(raw, name) && name.view() == key;
}

}  // namespace

bool is_object(std::string_view text) {
  if (!utf8::is_valid(text)) {  // the blob is sent back as it came, and must not end a connection
    return false;
  }
  Cursor cursor(text);
  cursor.skip_space();
  if (!text.substr(cursor.place()).starts_with('{') || !cursor.skip_value(0)) {
    return false;
  }
  cursor.skip_space();
  return cursor.at_end();
}

std::optional<std::string_view> member(std::string_view object, std::string_view key) {
  std::optional<std::string_view> found;
  Cursor cursor(object);
  cursor.skip_space();
  cursor.take('{');
  do {
    cursor.skip_space();
    std::size_t const key_at = cursor.place();
    if (!cursor.skip_string()) {
      break;  // the empty object
    }
    bool const wanted = same_key(cursor.since(key_at), key);
    cursor.skip_space();
    cursor.take(':');
    cursor.skip_space();
    std::size_t const value_at = cursor.place();
    cursor.skip_value(1);
    if (wanted) {
      found = cursor.since(value_at);
    }
    cursor.skip_space();
  } while (cursor.take(','));
  return found;
}

}  // namespace lastcall::shim::json
