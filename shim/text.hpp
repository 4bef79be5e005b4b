// A text of bounded size in a buffer that its caller owns. It replaces strings and printf, neither
// of which the shim can afford (heap, locale tables).
//
// Rules: 1. nothing is ever written beyond the capacity; 2. a piece that does not fit sets
// overflowed(), and the text ends with the last complete piece. No thread rule: the shim has one
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lastcall::shim {

class Text {
 public:
  Text(char* buffer, std::size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  Text& operator<<(std::string_view piece) {
    if (piece.size() > capacity_ - size_) {
      overflowed_ = true;
      return *this;
    }
    std::copy(piece.begin(), piece.end(), buffer_ + size_);
    size_ += piece.size();
    return *this;
  }

  Text& operator<<(std::int64_t number) {
    char digits[21];
    std::size_t at = sizeof digits;
    bool const negative = number < 0;
    auto rest = static_cast<std::uint64_t>(number);
    if (negative) {
      rest = 0 - rest;
    }
    do {
      digits[--at] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (negative) {
      digits[--at] = '-';
    }
    return *this << std::string_view(digits + at, sizeof digits - at);
  }

  Text& operator<<(int number) { return *this << std::int64_t{number}; }
  // The names under which a std::string has them.
  void append(std::string_view piece) { *this << piece; }
  void push_back(char c) { *this << std::string_view(&c, 1); }

  std::string_view view() const { return {buffer_, size_}; }
  bool overflowed() const { return overflowed_; }
  void clear() {
    size_ = 0;
    overflowed_ = false;
  }

 private:
  char* buffer_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool overflowed_ = false;
};

/// A Text that has its own buffer.
template <std::size_t Capacity>
class TextOf : public Text {
 public:
  TextOf() : Text(storage_, Capacity) {}
  TextOf(TextOf const&) = delete;
  TextOf& operator=(TextOf const&) = delete;

 private:
  char storage_[Capacity];
};

}  // namespace lastcall::shim
