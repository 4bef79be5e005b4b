// Bytes that a socket has not accepted yet.
//
// Invariant: it holds no memory while it is empty, because most streams are idle most of the time.
// Pure, no thread rule.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace lastcall::ingress {

class Unwritten {
 public:
  bool empty() const { return waiting_ == nullptr; }
  /// The number of bytes that it holds memory for.
  std::size_t capacity() const { return waiting_ ? waiting_->bytes.capacity() : 0; }
  std::size_t size() const { return bytes().size(); }
  std::string_view bytes() const {
    return waiting_ ? std::string_view(waiting_->bytes).substr(waiting_->at) : std::string_view();
  }

  /// `bytes` is not empty.
  void add(std::string_view bytes) {
    if (!waiting_) {
      waiting_ = std::make_unique<Waiting>();
    }
    waiting_->bytes.append(bytes);
  }
  /// The socket has accepted the first `count` bytes.
  void accepted(std::size_t count) {
    waiting_->at += count;
    if (waiting_->at == waiting_->bytes.size()) {
      clear();
    }
  }
  void clear() { waiting_.reset(); }

 private:
  struct Waiting {
    std::string bytes;
    std::size_t at = 0;  // of the first that was not accepted
  };
  std::unique_ptr<Waiting> waiting_;
};

}  // namespace lastcall::ingress
