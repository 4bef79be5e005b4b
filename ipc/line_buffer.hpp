// Splits a stream of bytes into lines without copying them.
//
// Rules:
//  1. A line that next_line() handed out is valid until the next prepare().
//  2. Memory is at most kMaxLine + 1 bytes; it starts small and grows while reads fill it.
//  3. Once there are more than kMaxLine bytes without a newline, is_overflowing() stays true: the
//     stream cannot be read any further, and the caller closes it.
//
// Pure, no thread rule.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ipc/limits.hpp"

namespace lastcall::ipc {

class LineBuffer {
 public:
  /// Room for the next read; empty only while is_overflowing().
  std::span<char> prepare();
  /// Called after `size` bytes of the room were filled.
  void commit(std::size_t size) { end_ += size; }
  /// The next whole line, without its newline.
  std::optional<std::string_view> next_line();
  bool is_overflowing() const { return end_ - begin_ > kMaxLine && scanned_ == end_; }

 private:
  std::vector<char> bytes_;
  std::size_t begin_{};    // where the first line begins that was not handed out
  std::size_t scanned_{};  // no newline between begin_ and here
  std::size_t end_{};
};

}  // namespace lastcall::ipc
