// The part of a request that is on its way to the engine, and whether it may be sent twice.
//
// Rules:
//  1. Bytes are kept until the engine has accepted them, and longer if they may have to be sent
//     again.
//  2. A request is sent again at most once, on another connection, and only if nothing came back on
//     a connection that had been kept. In addition, its method must make that harmless, or the
//     engine must have accepted nothing of it.
//
// Pure, no thread rule. Source: RFC 9110, section 9.2.2; RFC 9112, section 9.3.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lastcall::relay {

class ToEngine {
 public:
  enum class State : std::uint8_t {
    untouched,  // the engine has accepted nothing of the request
    begun,
    broken,  // the engine accepts no more; its answer is still read
  };
  enum class Again : std::uint8_t {
    if_untouched,
    harmless,  // its method is idempotent, and it has no body
    spent,     // it was sent again
  };

  explicit ToEngine(Again again) : again_(again) {}

  State state() const { return state_; }
  /// The buffer to append to.
  std::string& bytes() { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  std::size_t capacity() const { return bytes_.capacity(); }
  /// The number of waiting bytes, whether the engine accepts them or not.
  std::size_t waiting() const { return bytes_.size() - taken_; }
  /// The bytes to offer to the engine.
  std::string_view unsent() const {
    return state_ == State::broken ? std::string_view() : std::string_view(bytes_).substr(taken_);
  }

  void took(std::size_t bytes) {
    taken_ += bytes;
    state_ = bytes > 0 ? State::begun : state_;
  }
  void broke() {
    state_ = State::broken;
    forget();
  }
  /// `was_used`: the connection carried a request before this one.
  bool may_repeat(bool was_used) const {
    return was_used && again_ != Again::spent &&
           (again_ == Again::harmless || state_ == State::untouched);
  }
  bool has_to_be_kept(bool was_used) const { return again_ == Again::harmless && was_used; }
  bool was_repeated() const { return again_ == Again::spent; }
  void repeat() {
    again_ = Again::spent;
    taken_ = 0;
  }
  /// Frees the buffer: nothing of it will be written again, and an idle stream should hold no
  /// memory.
  void forget() {
    taken_ = 0;
    std::string().swap(bytes_);
  }
  /// Empties the buffer, but keeps its room, because more of the request will come.
  void clear() {
    taken_ = 0;
    bytes_.clear();
  }

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
  State state_ = State::untouched;
  Again again_;
};

}  // namespace lastcall::relay
