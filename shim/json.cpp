#include "shim/json.hpp"

namespace lastcall::shim::json {
namespace {

constexpr int kDeepest = 32;

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex_digit(char c) {
  char const lower = static_cast<char>(c | 0x20);
  return is_digit(c) || (lower >= 'a' && lower <= 'f');
}

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
    if (!skip_hex_digits()) {
      return false;
    }
    // Half of a surrogate pair is not a character, and a peer that decodes it refuses the line.
    std::string_view const digits = text_.substr(at_ - 4, 4);
    bool const is_surrogate = (digits[0] == 'd' || digits[0] == 'D') && digits[1] >= '8';
    if (!is_surrogate) {
      return true;
    }
    bool const is_high = digits[1] <= '9' || (digits[1] | 0x20) <= 'b';
    if (!is_high || text_.substr(at_, 2) != "\\u") {
      return false;
    }
    at_ += 2;
    if (!skip_hex_digits()) {
      return false;
    }
    std::string_view const low = text_.substr(at_ - 4, 4);
    char const second = static_cast<char>(low[1] | 0x20);
    return (low[0] == 'd' || low[0] == 'D') && second >= 'c' && second <= 'f';
  }

  bool skip_hex_digits() {
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_end() || !is_hex_digit(text_[at_])) {
        return false;
      }
    }
    return true;
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

constexpr unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

/// The number of bytes of the sequence that begins at `at`; 0 if no valid one does (RFC 3629).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  unsigned const lead = byte_at(text, at);
  unsigned const second = byte_at(text, at + 1);
  auto const continues = [&](std::size_t n) { return (byte_at(text, at + n) & 0xC0U) == 0x80U; };
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return continues(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    bool const is_bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F);
    return !is_bad && continues(1) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    bool const is_bad = (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
    return !is_bad && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

/// The blob is sent back as it came, so it must not end the next connection.
bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const length = sequence_length(text, at);
    if (length == 0) {
      return false;
    }
    at += length;
  }
  return true;
}

}  // namespace

bool is_object(std::string_view text) {
  if (!is_utf8(text)) {
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
