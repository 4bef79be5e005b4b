// Bytes of bodies that are read while their requests wait for a place in admission.
//
// The end of a client can be seen only after the bytes that it has sent, so a waiter's body is read
// on. All waiters of a proxy together hold at most kMost, so that many large bodies cannot use up
// the supervisor's memory. A body that finds no room is read on when its request has a place.
// Thread rule: the proxy's thread.
#pragma once

#include <cstddef>
#include <utility>

namespace lastcall::ingress {

class WaitingBytes {
 public:
  static constexpr std::size_t kMost = std::size_t{16} * 1024 * 1024;

  /// `total` is the sum over all waiters; it outlives this.
  explicit WaitingBytes(std::size_t& total) : total_(total) {}
  WaitingBytes(WaitingBytes const&) = delete;
  WaitingBytes& operator=(WaitingBytes const&) = delete;
  ~WaitingBytes() { release(); }

  bool has_room() const { return total_ < kMost; }
  bool has_any() const { return bytes_ > 0; }
  void add(std::size_t bytes) {
    bytes_ += bytes;
    total_ += bytes;
  }
  void release() { total_ -= std::exchange(bytes_, 0); }

 private:
  std::size_t& total_;
  std::size_t bytes_ = 0;
};

}  // namespace lastcall::ingress
