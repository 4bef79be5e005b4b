// Cuts a byte stream into lines, in one buffer that never grows.
//
// Rules: 1. a line is at most 64 KiB without its newline; a longer one is an error, and the caller
// ends the connection; 2. memory is touched only as far as bytes came.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

namespace lastcall::shim {

inline constexpr std::size_t kLongestLine = 64 * 1024;

class LineBuffer {
 public:
  char* space() { return bytes_ + filled_; }
  std::size_t space_size() const { return sizeof bytes_ - filled_; }
  void added(std::size_t count) { filled_ += count; }

  /// Returns the next complete line, valid until compact().
  std::optional<std::string_view> next_line() {
    char const* const start = bytes_ + taken_;
    void const* const newline = std::memchr(start, '\n', filled_ - taken_);
    if (newline == nullptr) {
      return std::nullopt;
    }
    auto const length = static_cast<std::size_t>(static_cast<char const*>(newline) - start);
    taken_ += length + 1;
    return std::string_view(start, length);
  }

  /// Makes room again; call it when next_line() has no more lines.
  void compact() {
    if (taken_ > 0) {
      std::memmove(bytes_, bytes_ + taken_, filled_ - taken_);
      filled_ -= taken_;
      taken_ = 0;
    }
  }

  /// Whether a line began that is too long; ask after compact().
  bool is_full() const { return filled_ == sizeof bytes_; }
  void clear() { filled_ = taken_ = 0; }

 private:
  std::size_t filled_ = 0;
  std::size_t taken_ = 0;
  char bytes_[kLongestLine + 1];
};

}  // namespace lastcall::shim
