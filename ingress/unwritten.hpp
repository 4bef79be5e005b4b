// Bytes that a socket has not accepted yet.
//
// Invariant: it holds no memory while it is empty, because most streams are idle most of the time.
// Pure, no thread rule.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lastcall::ingress {

class Unwritten {
 public:
  bool empty() const { return bytes_.empty(); }
  /// The number of bytes that it holds memory for.
  std::size_t capacity() const { return bytes_.capacity(); }
  std::size_t size() const { return bytes_.size() - at_; }
  std::string_view bytes() const { return std::string_view(bytes_).substr(at_); }

  void add(std::string_view bytes) { bytes_.append(bytes); }
  /// The socket has accepted the first `count` bytes.
  void accepted(std::size_t count) {
    at_ += count;
    if (at_ == bytes_.size()) {
      clear();
    }
  }
  void clear() {
    at_ = 0;
    std::string().swap(bytes_);
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace lastcall::ingress
